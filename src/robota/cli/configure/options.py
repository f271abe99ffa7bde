"""The options that change the user's settings: profiles, the current provider, language, reset."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

from robota.cli.command_line import CommandLine
from robota.cli.configure.provider import (
    DONE,
    FAILED,
    USAGE,
    ProviderChoice,
    configure_provider,
    refuse_config,
    refuse_usage,
    ways_to_configure,
)
from robota.config.errors import ConfigError
from robota.config.paths import settings_path
from robota.config.settings.languages import NAMES, language_problem
from robota.config.settings.load import load_settings
from robota.config.settings.writer import remove_settings, set_value
from robota.text.visible import single_line


def change_settings(arguments: CommandLine, env: Mapping[str, str]) -> int | None:
    """Apply the options that change settings; returns an exit code, or None to continue with the prompt."""
    if arguments.reset:
        return reset(env, confirms=not arguments.yes)
    if arguments.configure:
        return _configure_by_questions(env, arguments.type)
    if not (arguments.prompt or arguments.print):
        return _store_options(arguments, env)
    # Only the answer to the prompt is printed to stdout.
    with redirect_stdout(sys.stderr):
        code = _store_options(arguments, env)
    return None if code == DONE else code


def _store_options(arguments: CommandLine, env: Mapping[str, str]) -> int:
    """Write all given settings, up to the first that fails."""
    code = DONE
    if arguments.configure_provider is not None:
        code = configure_provider(_choice(arguments), env)
    elif arguments.set_current:
        code = set_current_provider(arguments.provider, env)
    starts_task = bool(arguments.prompt) or arguments.print
    if code == DONE and arguments.language is not None and not starts_task:
        code = _store_language(arguments.language, env)
    return code


def set_current_provider(name: str | None, env: Mapping[str, str]) -> int:
    """`--provider NAME --set-current`: select the profile to use from now on."""
    if name is None:
        return refuse_usage("--set-current needs --provider NAME, or --configure-provider NAME.")
    try:
        profiles = load_settings(None, env).values.providers
        if name not in profiles:
            return refuse_usage(
                f"There is no provider profile {name!r}. Known: {', '.join(sorted(profiles)) or 'none'}."
            )
        set_value(settings_path(env), ["currentProvider"], name)
    except ConfigError as error:
        return refuse_config(error)
    print(f"Profile {name!r} is now the current provider.")
    return DONE


def reset(env: Mapping[str, str], *, confirms: bool) -> int:
    """`--reset`: remove the user's settings and keep a backup copy beside them."""
    try:
        path = settings_path(env)
        if not path.exists():
            print(f"There is nothing to reset: {path} does not exist.")
            return DONE
        if confirms and not _agreed(path):
            print("Nothing was changed.")
            return FAILED
        backup = remove_settings(path)
    except ConfigError as error:
        return refuse_config(error)
    print(f"{path} was removed. A backup is in {backup}.")
    return DONE


def _agreed(path: Path) -> bool:
    from robota.cli.questions import Cancelled, at_terminal, confirm

    if not at_terminal():
        print("robota: --reset needs a terminal to ask. To reset without asking: robota --reset --yes", file=sys.stderr)
        return False
    try:
        return confirm(f"Remove {path} with all provider profiles? A backup is kept.", default=False)
    except Cancelled:
        return False


def _configure_by_questions(env: Mapping[str, str], kind: str | None) -> int:
    from robota.cli.questions import at_terminal

    if not at_terminal():
        print(f"robota: --configure needs a terminal for its questions.\n{ways_to_configure()}", file=sys.stderr)
        return USAGE
    from robota.cli.configure.wizard import configure

    return configure(env, kind)


def _store_language(language: str, env: Mapping[str, str]) -> int:
    problem = language_problem(language)
    if problem is not None:
        return refuse_usage(f"{single_line(language)!r} is not a language: {problem}.")
    try:
        set_value(settings_path(env), ["language"], language)
    except ConfigError as error:
        return refuse_config(error)
    print(f"Answers will be in {NAMES.get(language.lower(), language)}.")
    return DONE


def _choice(arguments: CommandLine) -> ProviderChoice:
    return ProviderChoice(
        name=arguments.configure_provider or "",
        type=arguments.type,
        base_url=arguments.base_url,
        api_key=arguments.api_key,
        api_key_env=arguments.api_key_env,
        model=arguments.model,
        set_current=arguments.set_current,
    )
