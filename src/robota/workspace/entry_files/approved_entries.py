"""The entries of commands for rules: as they are now, and as they were when the user allowed the command."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.config.durable_file import make_private_directory, read_file
from robota.workspace.entry_files.entry import CommandEntry

if TYPE_CHECKING:
    from robota.protocol.views import DiffView
    from robota.workspace.shell.script import Argv

KEPT_IN: Final = "allowed-entries"
MAX_KEPT_BYTES: Final = 256 * 1024
MAX_KEPT_FILES: Final = 500
CONTEXT_LINES: Final = 3
MAX_DIFFED_LINES: Final = 2_000


class ApprovedEntries:
    """Finds the entries of commands in a workspace, and keeps those that the user allowed, to show what changed."""

    def __init__(self, root: Path, user_directory: Path, is_confined: Callable[[], bool]) -> None:
        """`is_confined`: commands run in a sandbox that can mount what was approved; rules need that."""
        self._root = root
        self._directory = user_directory / KEPT_IN
        self._is_confined = is_confined
        self._found: dict[str, CommandEntry] = {}

    def find(self, argv: "Argv", directories: Sequence[str]) -> CommandEntry:
        """What decides the meaning of a command that runs in one of these directories. Raises `Unpinnable`."""
        # Imported with the first command that such a rule could be about.
        from robota.workspace.entry_files.finding import Unpinnable, find_entry

        if not self._is_confined():
            raise Unpinnable("bubblewrap, which has to confine it, does not work here")
        entry = CommandEntry()
        for directory in directories:
            entry += find_entry(argv, directory, self._root)
        self._found[entry.digest] = entry
        return entry

    def keep(self, digest: str) -> None:
        """Keep an entry that was found, so that a later change can be shown. Without room, nothing is shown then."""
        import tempfile

        entry = self._found.get(digest)
        if entry is None:
            return
        texts = {file.path: file.text for file in entry.files}
        data = msgspec.json.encode(texts)
        if len(data) > MAX_KEPT_BYTES:
            return
        try:
            make_private_directory(self._directory)
            self._make_room()
            with tempfile.NamedTemporaryFile(dir=self._directory, delete=False) as draft:
                draft.write(data)
            Path(draft.name).replace(self._directory / digest)
        except OSError:
            return

    def changes(self, before: str, now: CommandEntry) -> "tuple[DiffView, ...]":
        """How the files differ from those that were allowed; empty if those are not known any more."""
        from robota.protocol.unified_diff import files_in

        old = self._kept(before)
        if old is None:
            return ()
        new = {file.path: file.text for file in now.files}
        changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
        return files_in("\n".join(line for path in changed for line in _diff(path, old.get(path), new.get(path))))

    def _kept(self, digest: str) -> dict[str, str] | None:
        try:
            data = read_file(self._directory / digest, follow=False, most=MAX_KEPT_BYTES)
            return msgspec.json.decode(data, type=dict[str, str])
        except (OSError, msgspec.DecodeError):
            return None

    def _make_room(self) -> None:
        """Remove the oldest."""
        kept = sorted(self._directory.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in kept[: max(0, len(kept) - MAX_KEPT_FILES)]:
            path.unlink(missing_ok=True)


def _diff(path: str, old: str | None, new: str | None) -> Iterator[str]:
    from difflib import unified_diff

    before, after = (old or "").splitlines(), (new or "").splitlines()
    yield f"diff --git a/{path} b/{path}"
    if old is None:
        yield "new file mode 100644"
    # Of long texts, comparing takes too long; that they changed is said anyway.
    if max(len(before), len(after)) <= MAX_DIFFED_LINES:
        yield from unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="", n=CONTEXT_LINES)
