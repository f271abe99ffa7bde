"""What a checkpoint records in addition to its files: what is not in it, and file modes that git does not store."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from robota.workspace.checkpoints.checkpoint_change import CheckpointChange
from robota.workspace.checkpoints.scan import NotCaptured


class CheckpointDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`modes` lists files whose mode is neither `plain_mode` nor `executable_mode`.

    `unsaved` are the ignored paths that were left out when ignored files were last captured; None if they never were.
    """

    not_captured: tuple[NotCaptured, ...] = ()
    unsaved: tuple[str, ...] | None = None
    modes: dict[str, int] = {}
    plain_mode: int = 0o644
    executable_mode: int = 0o755

    def mode_of(self, path: str, *, is_executable: bool) -> int:
        """The mode that a file had."""
        return self.modes.get(path, self.executable_mode if is_executable else self.plain_mode)

    def was_absent(self, path: str) -> bool:
        """Whether an ignored path that is not in the checkpoint was not there when ignored files were captured."""
        return self.unsaved is not None and not is_beneath_any(path, self.unsaved)

    def existed(self, paths: Iterable[bytes]) -> tuple[bytes, ...]:
        """Those of these ignored paths that may have been there, although they are not in the checkpoint."""
        return tuple(path for path in paths if not self.was_absent(os.fsdecode(path)))

    def with_modes_of(self, target: "CheckpointDetails", changes: Sequence[CheckpointChange]) -> "CheckpointDetails":
        """These details with the modes of the changed paths taken from the target."""
        modes = {**self.modes}
        for change in changes:
            modes.pop(change.path, None)
            file = change.after
            if file is not None and not file.is_link:
                usual = self.executable_mode if file.is_executable else self.plain_mode
                mode = target.mode_of(change.path, is_executable=file.is_executable)
                modes.update({} if mode == usual else {change.path: mode})
        return msgspec.structs.replace(self, modes=modes)


def is_beneath_any(path: str, places: Iterable[str]) -> bool:
    """Whether the path is one of these, or in one of them."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


def details_now(
    workspace: Path,
    previous: CheckpointDetails | None,
    not_captured: tuple[NotCaptured, ...],
    paths: Iterable[bytes],
    unsaved: tuple[str, ...] | None = None,
) -> CheckpointDetails:
    """The details after inspecting these paths, and the paths that had an unusual mode before.

    `unsaved` are the ignored paths that were left out, if ignored files were captured.
    """
    looked = {os.fsdecode(path) for path in paths} | (set() if previous is None else previous.modes.keys())
    current_modes = {name: mode for name in looked if (mode := _mode_at(workspace / name)) is not None}
    base = previous or _most_usual(current_modes.values())
    modes = {
        name: mode
        for name, mode in current_modes.items()
        if mode != (base.executable_mode if _is_executable(mode) else base.plain_mode)
    }
    unsaved = base.unsaved if unsaved is None else unsaved
    return msgspec.structs.replace(base, not_captured=not_captured, modes=modes, unsaved=unsaved)


def _most_usual(modes: Iterable[int]) -> CheckpointDetails:
    counted = Counter(modes)
    default = CheckpointDetails()
    plain = {mode: count for mode, count in counted.items() if not _is_executable(mode)}
    executable = {mode: count for mode, count in counted.items() if _is_executable(mode)}
    return CheckpointDetails(
        plain_mode=max(plain, key=lambda mode: plain[mode], default=default.plain_mode),
        executable_mode=max(executable, key=lambda mode: executable[mode], default=default.executable_mode),
    )


def _is_executable(mode: int) -> bool:
    """As git decides it: by the owner's permission."""
    return bool(mode & stat.S_IXUSR)


def _mode_at(path: Path) -> int | None:
    """The mode of a regular file; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None
