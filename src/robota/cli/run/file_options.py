"""Read options that name a file or contain its content: prompts, settings, MCP servers, the answer schema."""

from pathlib import Path
from typing import Any, Final

import msgspec

from robota.cli.command_line import CommandLine, UsageError

MAX_BYTES: Final = 10_000_000


def with_file_options(arguments: CommandLine) -> CommandLine:
    """The command line with the content of the files that it names; `UsageError` if one cannot be used."""
    schema = None if arguments.json_schema is None else json_option(arguments.json_schema, "--json-schema")
    appended = _text_or_file(arguments, "append_system_prompt")
    if schema is not None:
        from robota.cli.run.answer_schema import AnswerSchema

        appended = "\n\n".join(text for text in (appended, AnswerSchema(schema).instruction) if text)
    return msgspec.structs.replace(
        arguments,
        system_prompt=_text_or_file(arguments, "system_prompt"),
        append_system_prompt=appended,
        input_text="" if arguments.input_file is None else text_option(arguments.input_file, "--input-file"),
        settings=_settings(arguments),
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
    return text_option(file, f"{option}-file")


def text_option(file: str, option: str) -> str:
    """The text of a file that an option names; `UsageError` if it cannot be read."""
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{option}: {file} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{option}: {file} is larger than {MAX_BYTES:,} bytes.")
    return data.decode("utf-8-sig", "replace").strip("\n")


def json_option(value: str, option: str) -> dict[str, Any]:
    """A JSON object, given inline or as a file."""
    is_json = value.lstrip().startswith("{")
    text = value if is_json else text_option(value, option)
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"{option}: {'this' if is_json else value} is not JSON: {error}.") from error
    if not isinstance(decoded, dict):
        raise UsageError(f"{option}: {'this' if is_json else value} is not a JSON object.")
    return decoded


def _settings(arguments: CommandLine) -> dict[str, Any]:
    """The settings from `--settings` and `--mcp-config`."""
    settings = {} if arguments.settings_source is None else json_option(arguments.settings_source, "--settings")
    if arguments.mcp_config is None:
        return settings
    servers = json_option(arguments.mcp_config, "--mcp-config").get("mcpServers")
    if not isinstance(servers, dict):
        raise UsageError('--mcp-config: it has no object "mcpServers".')
    before = settings.get("mcpServers")
    return {**settings, "mcpServers": {**(before if isinstance(before, dict) else {}), **servers}}
