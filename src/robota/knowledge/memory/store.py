"""Reads and writes the files of one memory, atomically and with one writer at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import directory_inside, only_writer, read_file, replace_file
from robota.knowledge.memory.candidates import CandidateState, MemoryCandidate, PendingFile
from robota.knowledge.memory.entry import MemoryEntry, MemoryLine, memory_lines

INDEX: Final = "MEMORY.md"
TOPICS: Final = "topics"
PENDING: Final = "pending.json"
CHECKS: Final = "checks.json"
MAX_FILE_BYTES: Final = 1024 * 1024
MAX_TOPICS: Final = 500
MAX_DECIDED: Final = 200


class MemoryProblem(Exception):
    """The memory cannot be read or written. The message, for the user, says why and what was left unchanged."""


class MemoryContents(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of the index and of the topic files."""

    index: tuple[MemoryLine, ...] = ()
    topics: Mapping[str, tuple[MemoryLine, ...]] = {}

    @property
    def entries(self) -> tuple[MemoryEntry, ...]:
        """Each entry once: those of the index, then those that only a topic has."""
        found: dict[str, MemoryEntry] = {}
        for line in (*self.index, *(line for topic in self.topics.values() for line in topic)):
            if line.entry is not None:
                found.setdefault(line.entry.id, line.entry)
        return tuple(found.values())


class FailedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """When and how the check of an entry failed."""

    date: str
    why: str


class MemoryStore:
    """The files of one memory: that of a project, or that of the user."""

    def __init__(self, root: Path, relative: str, title: str, prepare: Callable[[], None]) -> None:
        """The files are in `root / relative`; links below `root` are refused. `prepare` runs before each write."""
        self.directory = root / relative
        self._root = root
        self._relative = Path(relative)
        self._title = title
        self._prepare = prepare

    @property
    def index_path(self) -> Path:
        return self.directory / INDEX

    def topic_path(self, topic: str) -> Path:
        """The file of a topic."""
        return self.directory / TOPICS / f"{topic}.md"

    def stamp(self) -> tuple[object, ...]:
        """A value that changes whenever the index or the results of checks change."""
        return tuple(_file_stamp(self.directory / name) for name in (INDEX, CHECKS))

    def index(self) -> tuple[MemoryLine, ...]:
        """The lines of the index. Raises `MemoryProblem`."""
        with self._reading(self._relative) as directory:
            return () if directory is None else _lines(directory / INDEX)

    def topics(self) -> Mapping[str, tuple[MemoryLine, ...]]:
        """The lines of every topic file, by topic. Raises `MemoryProblem`."""
        with self._reading(self._relative / TOPICS) as directory:
            if directory is None:
                return {}
            names = sorted(path.name for path in directory.iterdir() if path.suffix == ".md" and not path.is_symlink())
            return {name.removesuffix(".md"): _lines(directory / name) for name in names[:MAX_TOPICS]}

    def read(self) -> MemoryContents:
        """The whole memory. Raises `MemoryProblem`."""
        return MemoryContents(index=self.index(), topics=self.topics())

    def add(self, entry: MemoryEntry) -> bool:
        """Add an entry to the index and its topic file; False if its text is there. Raises `MemoryProblem`."""
        with self._writing() as directory:
            if any(known.text.casefold() == entry.text.casefold() for known in self.read().entries):
                return False
            self._append(directory, entry)
            return True

    def forget(self, entry_id: str) -> MemoryEntry | None:
        """Remove an entry from every file; None if there is no such entry. Raises `MemoryProblem`."""
        with self._writing() as directory:
            entry = next((each for each in self.read().entries if each.id == entry_id), None)
            if entry is not None:
                _remove_entry(directory / INDEX, entry_id)
                for topic in self.topics():
                    _remove_entry(directory / TOPICS / f"{topic}.md", entry_id)
            return entry

    def candidates(self) -> tuple[MemoryCandidate, ...]:
        """The candidates that wait for approval. Raises `MemoryProblem`."""
        return tuple(each for each in self._records() if each.state is CandidateState.PENDING)

    def propose(self, candidate: MemoryCandidate) -> bool:
        """Keep a candidate until the user decides; False if its text is an entry, or was a candidate before."""
        with self._writing() as directory:
            records = self._records()
            text = candidate.entry.text.casefold()
            known = (*self.read().entries, *(each.entry for each in records))
            if any(each.text.casefold() == text for each in known):
                return False
            _save_candidates(directory, (*records, candidate))
            return True

    def decide(self, candidate_id: str, *, is_approved: bool) -> MemoryCandidate | None:
        """Approve a candidate, which adds its entry, or reject it; None if no such candidate waits."""
        with self._writing() as directory:
            records = self._records()
            found = next((each for each in self.candidates() if each.id == candidate_id), None)
            if found is None:
                return None
            if is_approved and found.entry.id not in {entry.id for entry in self.read().entries}:
                self._append(directory, found.entry)
            state = CandidateState.SAVED if is_approved else CandidateState.REJECTED
            decided = msgspec.structs.replace(found, state=state)
            _save_candidates(directory, tuple(decided if each.id == found.id else each for each in records))
            return decided

    def failed_checks(self) -> Mapping[str, FailedCheck]:
        """The checks that failed in their last run, by the id of the entry. A damaged file counts as empty."""
        with self._reading(self._relative) as directory:
            if directory is None:
                return {}
            try:
                return msgspec.json.decode(read_file(directory / CHECKS, follow=False), type=dict[str, FailedCheck])
            except (OSError, ValueError, msgspec.DecodeError):
                return {}

    def record_checks(self, failed: Mapping[str, FailedCheck], passed: Iterable[str]) -> None:
        """Record which checks failed, and which passed."""
        with self._writing() as directory:
            kept = {**self.failed_checks(), **failed}
            for entry_id in passed:
                kept.pop(entry_id, None)
            replace_file(directory / CHECKS, msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")

    def _append(self, directory: Path, entry: MemoryEntry) -> None:
        _append_line(directory / INDEX, f"{self._title}\n", entry.line)
        with directory_inside(self._root, self._relative / TOPICS) as topics:
            _append_line(topics / f"{entry.topic}.md", f"# {entry.topic}\n", entry.line)

    def _records(self) -> tuple[MemoryCandidate, ...]:
        with self._reading(self._relative) as directory:
            if directory is None:
                return ()
            try:
                return msgspec.json.decode(read_file(directory / PENDING, follow=False), type=PendingFile).records
            except FileNotFoundError:
                return ()
            except (ValueError, msgspec.DecodeError) as error:
                where = self.directory / PENDING
                raise MemoryProblem(
                    f"{where} cannot be read ({error}). It was not changed. Correct or remove it."
                ) from error

    @contextmanager
    def _reading(self, relative: Path) -> Iterator[Path | None]:
        """Open a directory of the memory; None if it does not exist."""
        try:
            with ExitStack() as opened:
                try:
                    directory = opened.enter_context(directory_inside(self._root, relative, make=False))
                except FileNotFoundError:
                    directory = None
                yield directory
        except OSError as error:
            raise MemoryProblem(
                f"The memory in {self.directory} cannot be read: {_error_text(error)}. Nothing was changed."
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[Path]:
        """Open the directory of the memory, creating it if needed, and lock it against other writers."""
        try:
            self._prepare()
            with directory_inside(self._root, self._relative) as directory, only_writer(directory):
                yield directory
        except OSError as error:
            message = f"The memory in {self.directory} cannot be written: {_error_text(error)}. Nothing was changed."
            raise MemoryProblem(message) from error


def _file_stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _lines(path: Path) -> tuple[MemoryLine, ...]:
    try:
        return memory_lines(read_file(path, follow=False, most=MAX_FILE_BYTES).decode("utf-8", "surrogateescape"))
    except FileNotFoundError:
        return ()


def _append_line(path: Path, heading: str, line: str) -> None:
    lines = _lines(path)
    text = "".join(each.text for each in lines) or f"{heading}\n"
    end = "" if text.endswith("\n") else "\n"
    _write(path, f"{text}{end}{line}\n")


def _remove_entry(path: Path, entry_id: str) -> None:
    lines = _lines(path)
    kept = [line for line in lines if line.entry is None or line.entry.id != entry_id]
    if len(kept) < len(lines):
        _write(path, "".join(line.text for line in kept))


def _write(path: Path, text: str) -> None:
    replace_file(path, text.encode("utf-8", "surrogateescape"))


def _save_candidates(directory: Path, records: tuple[MemoryCandidate, ...]) -> None:
    """Write all waiting candidates, and the latest decided ones."""
    decided = [each for each in records if each.state is not CandidateState.PENDING]
    dropped = {each.id for each in decided[:-MAX_DECIDED]}
    kept = PendingFile(records=tuple(each for each in records if each.id not in dropped))
    replace_file(directory / PENDING, msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")


def _error_text(error: OSError) -> str:
    return error.strerror or str(error)
