"""The options that change the person's settings: profiles, the current provider, language, reset."""

import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.arguments import Arguments
from robota.config.errors import ConfigError
from robota.config.paths import settings_path
from robota.config.profiles.profile import Profile
from robota.config.settings.languages import NAMES, language_problem
from robota.config.settings.load import load_settings
from robota.config.settings.writer import remove_settings, set_value, stored_profile, upsert_profile
from robota.providers.registry import canonical, definition, missing_fields, with_defaults
from robota.secrets.named_values import ENV_REFERENCE
from robota.text.visible import single_line

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CONFIGURATION: Final = 3

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ProviderChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was said on the command line."""

    name: str
    type: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    model: str | None = None
    set_current: bool = False


class UsageError(Exception):
    """The arguments make no sense together; nothing was written."""


def upkeep(arguments: Arguments, env: Mapping[str, str]) -> int | None:
    """Do what the options about settings ask for. None: all is done, go on with the prompt."""
    if arguments.check_update:
        from robota.cli.run.update_check import check_now

        return check_now(env)
    if arguments.reset:
        return reset(env, asked=not arguments.yes)
    if arguments.configure:
        return _configure_by_questions(env)
    if not (arguments.prompt or arguments.print):
        return _change(arguments, env)
    # Only the answer to the prompt may stand on stdout.
    with redirect_stdout(sys.stderr):
        code = _change(arguments, env)
    return None if code == DONE else code


def _change(arguments: Arguments, env: Mapping[str, str]) -> int:
    if arguments.configure_provider is not None:
        return configure_provider(_choice(arguments), env)
    if arguments.set_current:
        return set_current_provider(arguments.provider, env)
    return _store_language(arguments.language or "", env)


def configure_provider(choice: ProviderChoice, env: Mapping[str, str]) -> int:
    """Write the profile and say what to do next. Returns the exit code."""
    try:
        path = settings_path(env)
        profile = _profile(choice, stored_profile(path, choice.name))
        warnings = upsert_profile(path, profile, set_current=choice.set_current)
    except UsageError as error:
        return _usage(str(error))
    except ConfigError as error:
        return _refused(error)
    for warning in [*warnings, *_unset_variable(choice, env)]:
        print(f"robota: warning: {warning}", file=sys.stderr)
    current = " It is now the current one." if choice.set_current else ""
    print(f"Provider profile {choice.name!r} (type {profile.type}) was written to {path}.{current}")
    chosen = "" if choice.set_current else f" --provider {choice.name}"
    print(f'Try it: robota -p "Say hello."{chosen}')
    return DONE


def set_current_provider(name: str | None, env: Mapping[str, str]) -> int:
    """`--provider NAME --set-current`: which profile is used from now on."""
    if name is None:
        return _usage("--set-current needs --provider NAME, or --configure-provider NAME.")
    try:
        known = load_settings(None, env).values.providers
        if name not in known:
            return _usage(f"There is no provider profile {name!r}. Known: {', '.join(sorted(known)) or 'none'}.")
        set_value(settings_path(env), ["currentProvider"], name)
    except ConfigError as error:
        return _refused(error)
    print(f"The provider profile {name!r} is now the current one.")
    return DONE


def reset(env: Mapping[str, str], *, asked: bool) -> int:
    """`--reset`: remove the person's own settings, keeping a copy beside them."""
    try:
        path = settings_path(env)
        if not path.exists():
            print(f"There is nothing to reset: {path} does not exist.")
            return DONE
        if asked and not _agreed(path):
            print("Nothing was changed.")
            return FAILED
        backup = remove_settings(path)
    except ConfigError as error:
        return _refused(error)
    print(f"{path} was removed. What was in it is in {backup}.")
    return DONE


def _agreed(path: Path) -> bool:
    from robota.cli.configure.questions import Cancelled, at_terminal, confirm

    if not at_terminal():
        print("robota: nobody is there to be asked. To reset without a question: robota --reset --yes", file=sys.stderr)
        return False
    try:
        return confirm(f"Remove {path}, with all provider profiles? A copy is kept.", default=False)
    except Cancelled:
        return False


def _configure_by_questions(env: Mapping[str, str]) -> int:
    from robota.cli.configure.questions import at_terminal

    if not at_terminal():
        from robota.cli.run.first_run import ways_to_configure

        print(f"robota: --configure asks questions, and this is no terminal.\n{ways_to_configure()}", file=sys.stderr)
        return USAGE
    from robota.cli.configure.interactive import configure

    return configure(env)


def _store_language(language: str, env: Mapping[str, str]) -> int:
    problem = language_problem(language)
    if problem is not None:
        return _usage(f"{single_line(language)!r} is no language: {problem}.")
    try:
        set_value(settings_path(env), ["language"], language)
    except ConfigError as error:
        return _refused(error)
    print(f"From now on the answers are in {NAMES.get(language.lower(), language)}.")
    return DONE


def _choice(arguments: Arguments) -> ProviderChoice:
    return ProviderChoice(
        name=arguments.configure_provider or "",
        type=arguments.type,
        base_url=arguments.base_url,
        api_key=arguments.api_key,
        api_key_env=arguments.api_key_env,
        model=arguments.model,
        set_current=arguments.set_current,
    )


def _usage(problem: str) -> int:
    print(f"robota: {problem} Nothing was written.", file=sys.stderr)
    return USAGE


def _refused(error: ConfigError) -> int:
    print(f"robota: {error}", file=sys.stderr)
    return CONFIGURATION


def _profile(choice: ProviderChoice, before: Profile | None) -> Profile:
    """The profile to write, checked against its type as it will stand after the write."""
    _check_names(choice)
    type = choice.type or (before.type if before else None)
    if type is None:
        raise UsageError(f"--type is needed, because there is no profile {choice.name!r} yet.")
    try:
        kind = definition(type)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    key = f"{ENV_REFERENCE}{choice.api_key_env}" if choice.api_key_env else choice.api_key
    # An alias that stands in the file stays as it was written.
    spelling = before.type if before and canonical(before.type) == kind.type else kind.type
    profile = Profile(type=spelling, name=choice.name, model=choice.model, base_url=choice.base_url, api_key=key)
    missing = missing_fields(with_defaults(_over(profile, before), kind), kind)
    if missing:
        raise UsageError(f"A profile of type {kind.type} needs {' and '.join(missing)}.")
    return profile


def _check_names(choice: ProviderChoice) -> None:
    if not PROFILE_NAME.fullmatch(choice.name):
        raise UsageError(f"{choice.name!r} cannot name a profile: use letters, digits, dot, dash and underscore.")
    if choice.api_key is not None and choice.api_key_env is not None:
        raise UsageError("Give --api-key or --api-key-env, not both.")
    if choice.api_key_env is not None and not VARIABLE_NAME.fullmatch(choice.api_key_env):
        raise UsageError("--api-key-env takes the name of an environment variable, not the key itself.")
    if choice.base_url is not None and not re.match(r"https?://[^/\s]+", choice.base_url):
        raise UsageError(f"--base-url must start with http:// or https://, and {choice.base_url!r} does not.")


def _over(profile: Profile, before: Profile | None) -> Profile:
    if before is None or before.type != profile.type:
        return profile
    return msgspec.structs.replace(
        before,
        model=profile.model or before.model,
        base_url=profile.base_url or before.base_url,
        api_key=profile.api_key or before.api_key,
    )


def _unset_variable(choice: ProviderChoice, env: Mapping[str, str]) -> list[str]:
    if choice.api_key_env is None or env.get(choice.api_key_env):
        return []
    return [f"the environment variable {choice.api_key_env} is not set now; set it before the first task."]
