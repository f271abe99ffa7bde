"""Keeps a workspace trusted when the user changes its configuration through Robota."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robota.config.settings.load import load_settings
from robota.config.trust.decision import remember


@contextmanager
def own_change(root: Path, env: Mapping[str, str]) -> Iterator[None]:
    """A context manager around a change: a workspace that was trusted or empty is trusted after it."""
    before = load_settings(root, env).trust
    yield
    after = load_settings(root, env).trust
    if before is not None and before.is_given and after is not None:
        remember("yes", after.snapshot, env, time.time_ns() // 1_000_000)
