"""What a program says about itself in `initialize`; the TypeScript SDK says there what Python's says with options."""

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
        system_prompt=prompt or arguments.system_prompt,
        append_system_prompt="\n\n".join(part for part in parts if part) or None,
        answer_schema=schema,
    )
