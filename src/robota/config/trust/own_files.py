"""The user's own skills, commands, styles and hooks, as they were when the user last reviewed them.

Users are not asked about changes to their own files. But somebody else may have made them, so the changes since the
last review can be shown at any time.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import known_home, user_directory
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    ChangedPart,
    Part,
    agree,
    agreements,
    changed_parts,
    digest_of_parts,
    lock_path,
)
from robota.config.trust.sources import SKILL_HOLDERS, snapshot_of_tree

KEY: Final = "own"
KINDS: Final = ("agents", "commands", "hooks", "output-styles", "prompts", "skills")


def own_parts(hooks: Mapping[str, Any], env: Mapping[str, str]) -> tuple[Part, ...]:
    """The user's own configuration that can run something or instructs the model.

    `hooks` are those of the user's settings.
    """
    return tuple(sorted((*_files(env), *_of_hooks(hooks)), key=lambda part: part.name))


def own_changes(parts: tuple[Part, ...], env: Mapping[str, str]) -> list[ChangedPart] | None:
    """The changes since the user's last review; None if there was none. Raises `ConfigError`."""
    reviewed = agreements(AgreementKind.OWN, env).get(KEY)
    return None if reviewed is None else changed_parts(reviewed.parts, parts, env)


def note_own(parts: tuple[Part, ...], env: Mapping[str, str], now_ms: int) -> None:
    """Record that the user has reviewed them. Raises `ConfigError` if that cannot be stored."""
    digests = {part.name: part.digest for part in parts}
    seen = Agreement(said="yes", digest=digest_of_parts(parts), given_ms=now_ms, parts=digests)
    try:
        agree(AgreementKind.OWN, KEY, seen, parts, env)
    except OSError as error:
        raise ConfigError(f"Your review cannot be saved in {lock_path(env)}: {error}.") from error


def _files(env: Mapping[str, str]) -> Iterator[Part]:
    home = known_home(env)
    holders = (user_directory(env), *(() if home is None else (home / name for name in SKILL_HOLDERS[1:])))
    for directory in (holder / kind for holder in holders for kind in KINDS):
        if directory.is_dir():
            for source in snapshot_of_tree(directory).sources:
                yield Part(name=f"{directory}/{source.path}", digest=source.digest, data=source.data)


def _of_hooks(hooks: Mapping[str, Any]) -> Iterator[Part]:
    for event, rules in hooks.items():
        data = msgspec.json.format(msgspec.json.encode(rules, order="deterministic"), indent=2)
        yield Part(name=f"hooks for {event}", digest=hashlib.sha256(data).hexdigest(), data=data)
