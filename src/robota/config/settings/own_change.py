"""Keeps a workspace trusted when the user changes its configuration through Robota."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robota.config.durable_file import only_writer
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.config.trust.decision import is_trusted_by_user, remember
from robota.config.trust.lock_file import CONTENTS
from robota.config.trust.sources import Snapshot


@contextmanager
def own_change(root: Path, changed: Path, env: Mapping[str, str]) -> Iterator[None]:
    """A context manager around a change of one file: configuration that was trusted or empty is trusted after it.

    Whether the user trusts the rest of the workspace stays as it was. Trust is not renewed if another file changed
    meanwhile, because the user has not seen that. Raises `OSError`.
    """
    # The lock keeps a second process from seeing the change before it is trusted.
    with only_writer(user_directory(env) / CONTENTS):
        before = load_settings(root, env).trust
        was_trusted = is_trusted_by_user(before, env)
        yield
        after = load_settings(root, env).trust
        if before is None or after is None or not before.is_given:
            return
        if _without(changed, before.snapshot) == _without(changed, after.snapshot):
            remember("yes" if was_trusted else "own", after.snapshot, env, time.time_ns() // 1_000_000)


def _without(changed: Path, snapshot: Snapshot) -> list[tuple[str, str]]:
    """The other files of the snapshot."""
    return [(source.path, source.digest) for source in snapshot.sources if snapshot.root / source.path != changed]
