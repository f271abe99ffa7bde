"""Options that name a file, or hold what would stand in one: prompts, settings, MCP servers, the shape of an answer."""

from pathlib import Path
from typing import Any, Final

import msgspec

from robota.cli.command_line import CommandLine, UsageError

LIMIT_BYTES: Final = 10_000_000


def with_given_files(arguments: CommandLine) -> CommandLine:
    """The command line with all that the files say which it names; `UsageError` if one cannot be used."""
    schema = None if arguments.json_schema is None else given_object(arguments.json_schema, "--json-schema")
    told = _text_or_file(arguments, "append_system_prompt")
    if schema is not None:
        from robota.cli.run.answer_schema import AnswerSchema

        told = "\n\n".join(text for text in (told, AnswerSchema(schema).instruction) if text)
    return msgspec.structs.replace(
        arguments,
        system_prompt=_text_or_file(arguments, "system_prompt"),
        append_system_prompt=told,
        input_text="" if arguments.input_file is None else given_text(arguments.input_file, "--input-file"),
        run_settings=_settings(arguments),
        answer_schema=schema,
    )


def _text_or_file(arguments: CommandLine, name: str) -> str | None:
    text: str | None = getattr(arguments, name)
    file: str | None = getattr(arguments, f"{name}_file")
    option = f"--{name.replace('_', '-')}"
    if file is None:
        return text
    if text is not None:
        raise UsageError(f"Give {option} or {option}-file, not both.")
    return given_text(file, f"{option}-file")


def given_text(file: str, option: str) -> str:
    """The text of a file that an option names; `UsageError` if it cannot be read."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{option}: {file} cannot be read: {error.strerror}.") from error
    if len(data) > LIMIT_BYTES:
        raise UsageError(f"{option}: {file} holds more than {LIMIT_BYTES:,} bytes.")
    return data.decode("utf-8-sig", "replace").strip("\n")


def given_object(said: str, option: str) -> dict[str, Any]:
    """A JSON object that is given as it is, or in a file."""
    is_json = said.lstrip().startswith("{")
    text = said if is_json else given_text(said, option)
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"{option}: {'this' if is_json else said} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise UsageError(f"{option}: {'this' if is_json else said} is no JSON object.")
    return found


def _settings(arguments: CommandLine) -> dict[str, Any]:
    """What `--settings` and `--mcp-config` say, as settings."""
    settings = {} if arguments.settings is None else given_object(arguments.settings, "--settings")
    if arguments.mcp_config is None:
        return settings
    servers = given_object(arguments.mcp_config, "--mcp-config").get("mcpServers")
    if not isinstance(servers, dict):
        raise UsageError('--mcp-config: there is no object "mcpServers" in it.')
    before = settings.get("mcpServers")
    return {**settings, "mcpServers": {**(before if isinstance(before, dict) else {}), **servers}}
