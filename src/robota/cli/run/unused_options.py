"""Refuse options that would have no effect in combination with the others."""

from robota.cli.command_line import CommandLine, UsageError


def refuse_unused(arguments: CommandLine) -> None:
    """Raise `UsageError` if an option has no effect."""
    _refuse_task_beside_upkeep(arguments)
    is_resumed = arguments.continues or arguments.resume is not None
    if arguments.continues and arguments.resume is not None:
        raise UsageError("--continue and --resume name different sessions. Use one of them.")
    if arguments.fork_session and not is_resumed:
        raise UsageError("--fork-session needs a session to copy: add --continue or --resume SESSION.")
    if arguments.session_id is not None and is_resumed and not arguments.fork_session:
        raise UsageError("--session-id is for a new session; a resumed session keeps its id. Add --fork-session.")
    if arguments.yes and not arguments.reset and not is_resumed:
        raise UsageError(
            "--yes answers only the questions of --reset and --resume. To choose what runs without asking, use "
            "--permission-mode and --allowed-tools."
        )
    if arguments.configure_provider is None:
        for name in ("type", "base_url", "api_key", "api_key_env"):
            is_asked_about = name == "type" and arguments.configure
            if getattr(arguments, name) is not None and not is_asked_about:
                raise UsageError(f"{_option(name)} belongs to a profile: --configure-provider NAME")
    elif arguments.provider not in (None, arguments.configure_provider):
        raise UsageError("--provider and --configure-provider name different profiles.")
    _refuse_output_without_reader(arguments)


def _refuse_output_without_reader(arguments: CommandLine) -> None:
    if arguments.quiet and arguments.verbose:
        raise UsageError("--quiet and --verbose cannot be combined.")
    if arguments.json_schema is not None and not arguments.print:
        raise UsageError("--json-schema applies to print mode: add -p.")
    if arguments.plain and arguments.print:
        raise UsageError("--plain applies to the conversation in a terminal; -p prints plain text anyway.")
    if arguments.include_partial_messages and arguments.output_format in ("text", "json"):
        raise UsageError("--include-partial-messages needs --output-format stream-json or messages.")


def _refuse_task_beside_upkeep(arguments: CommandLine) -> None:
    chosen = [name for name in ("check_update", "reset", "configure") if getattr(arguments, name)]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(map(_option, chosen))} cannot be combined.")
    if chosen and (arguments.prompt or arguments.print):
        raise UsageError(f"{_option(chosen[0])} starts no task, so it takes no prompt.")
    if chosen and (arguments.configure_provider is not None or arguments.set_current or arguments.language is not None):
        raise UsageError(f"{_option(chosen[0])} cannot be combined with options that change other settings.")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
