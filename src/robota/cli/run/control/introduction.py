"""What a program says about itself in `initialize`; the TypeScript SDK says there what Python's says with options."""

from pathlib import Path
from typing import Any

import msgspec

from robota.cli.command_line import CommandLine


class Introduction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields of `initialize` that mean something here."""

    hooks: Any = None
    sdk_mcp_servers: tuple[str, ...] = ()
    system_prompt: str | tuple[str, ...] = ""
    append_system_prompt: str = ""
    json_schema: dict[str, Any] | None = None
    agents: dict[str, dict[str, Any]] = {}
    plugins: tuple[dict[str, Any], ...] = ()
    plan_mode_instructions: str = ""
    title: str = ""

    @property
    def plugin_directories(self) -> tuple[Path, ...]:
        """The directories of the plugins that the program names."""
        paths = (each.get("path") for each in self.plugins if each.get("type") == "local")
        return tuple(Path(path) for path in paths if isinstance(path, str) and path)


def introduction_in(request: dict[str, Any] | None) -> Introduction:
    """Read the request. A field that cannot be read counts as not given, null as well."""
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(Introduction):
        try:
            given[field.name] = msgspec.convert((request or {})[field.encode_name], field.type)
        except (KeyError, msgspec.ValidationError):
            continue
    return Introduction(**given)


def introduced(arguments: CommandLine, said: Introduction) -> CommandLine:
    """The command line with the prompts and the schema of the introduction."""
    prompt = said.system_prompt if isinstance(said.system_prompt, str) else "\n\n".join(said.system_prompt)
    parts = [arguments.append_system_prompt, said.append_system_prompt]
    schema = arguments.answer_schema
    if schema is None and said.json_schema is not None:
        from robota.cli.run.answer_schema import AnswerSchema

        schema = said.json_schema
        parts.append(AnswerSchema(schema).instruction)
    return msgspec.structs.replace(
        arguments,
        plugin_dir=(*arguments.plugin_dir, *said.plugin_directories),
        name=said.title or arguments.name,
        system_prompt=prompt or arguments.system_prompt,
        append_system_prompt="\n\n".join(part for part in parts if part) or None,
        answer_schema=schema,
    )
