"""The user's git configuration for commands: a copy without credentials, with included files resolved."""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Final

import msgspec

from robota.secrets.named_values import names_secret
from robota.workspace.files.path_status import mode_behind
from robota.workspace.outside_program import find_program, run_outside
from robota.workspace.process.environment import command_environment
from robota.workspace.process.withheld_variables import holds_secret
from robota.workspace.sandbox.home.configuration_files import FileCopy, names_user_in_url

TIMEOUT_S: Final = 5.0
SOURCE: Final = "git's configuration, without credentials"
# Left out: credentials, how to get them, and what was resolved already.
LEFT_OUT: Final = re.compile(
    r"credential\..*|include\..*|includeif\..*|http\.(?:.*\.)?(?:extraheader|cookiefile|sslkey|sslcert\w*|proxyauthmethod)"
    r"|sendemail\.(?:.*\.)?smtp(?:pass|user)|imap\.pass",
    re.DOTALL,
)
# Named like secrets, but they only say which key signs, or how.
HARMLESS: Final = re.compile(r"user\.signingkey|gpg\..*|commit\.gpgsign|tag\.gpgsign|core\.sshcommand")
NAMES_FILE: Final = re.compile(
    r"core\.(?:excludesfile|attributesfile|hookspath)|commit\.template|init\.templatedir|blame\.ignorerevsfile"
    r"|mailmap\.file|gpg\.ssh\.(?:allowedsignersfile|revocationfile)"
)
ESCAPED: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


class GitConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """`named_files` are what settings point to: files of ignored names, attributes, hooks, templates.

    `settings` merges all files, if something was left out of one; a later value replaces an earlier one.
    """

    copies: tuple[FileCopy, ...] = ()
    named_files: tuple[Path, ...] = ()
    settings: Mapping[str, str] = {}


def find_git_configuration(root: Path, home: Path, env: Mapping[str, str]) -> GitConfiguration:
    """The configuration of the user as git sees it in `root`; nothing if git cannot be asked."""
    program = find_program("git", env, not_beneath=root)
    if program is None:
        return GitConfiguration()
    copies: list[FileCopy] = []
    together: list[tuple[str, str | None]] = []
    for file in _files(home, env):
        configured = [*_settings(program, root, file, env)]
        kept = [(key, value) for key, value in configured if not is_left_out(key, value)]
        content = os.fsencode(written(kept))
        whole = file.resolve() if len(kept) == len(configured) else None
        if configured:
            copies.append(FileCopy(path=file, content=content, whole=whole, source=SOURCE))
        together += kept
    is_whole = all(copy.whole is not None for copy in copies)
    settings = {} if is_whole else {key: "true" if value is None else value for key, value in together}
    named = tuple(dict.fromkeys(_files_named_in(together, home)))
    return GitConfiguration(copies=tuple(copies), named_files=named, settings=settings)


def written(settings: Sequence[tuple[str, str | None]]) -> str:
    """The text of a configuration file with these settings; a value of None is a key that stands alone."""
    lines: list[str] = []
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        head = f'[{section} "{_in_subsection(subsection)}"]' if subsection else f"[{section}]"
        lines.append(f"{head}\n\t{name}" if value is None else f'{head}\n\t{name} = "{value.translate(ESCAPED)}"')
    return "".join(f"{line}\n" for line in lines)


def is_left_out(key: str, value: str | None) -> bool:
    """Whether a setting is, or may contain, a credential."""
    lowered = key.lower()
    if LEFT_OUT.fullmatch(lowered) or names_user_in_url(key) or holds_secret(key):
        return True
    is_named = names_secret(lowered.rpartition(".")[2]) or lowered.startswith(("github.", "gitlab.", "bitbucket."))
    if is_named and not HARMLESS.fullmatch(lowered):
        return True
    return value is not None and (names_user_in_url(value) or holds_secret(value))


def _files(home: Path, env: Mapping[str, str]) -> Iterator[Path]:
    chosen = env.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        yield from (Path(chosen),) if chosen.startswith("/") else ()
        return
    configured = env.get("XDG_CONFIG_HOME", "")
    if configured.startswith("/"):
        yield Path(configured, "git/config")
    yield from (home / ".config/git/config", home / ".gitconfig")


def _settings(program: str, root: Path, file: Path, env: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    if not stat.S_ISREG(mode_behind(file)):
        return
    words = [program, "config", "--file", str(file), "--includes", "--null", "--list"]
    try:
        done = run_outside(
            words,
            workspace=root,
            env=command_environment(env),
            cwd=root,
            stdin=DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    except (OSError, TimeoutExpired):
        return
    for entry in os.fsdecode(done.stdout).split("\0")[:-1]:
        key, has_value, value = entry.partition("\n")
        yield key, value if has_value else None


def _files_named_in(settings: Sequence[tuple[str, str | None]], home: Path) -> Iterator[Path]:
    for key, value in settings:
        if value and NAMES_FILE.fullmatch(key.lower()):
            path = home / value[2:] if value.startswith("~/") else Path(value)
            if path.is_absolute():
                yield path


def _in_subsection(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
