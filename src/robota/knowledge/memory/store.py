"""Reads and writes the files of one memory: each change in all files or in none, and one writer at a time."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import directory_inside, read_file
from robota.config.transaction import Transaction, transaction
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
        by_id: dict[str, MemoryEntry] = {}
        for line in (*self.index, *(line for topic in self.topics.values() for line in topic)):
            if line.entry is not None:
                by_id.setdefault(line.entry.id, line.entry)
        return tuple(by_id.values())


class FailedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """When and how the check of an entry failed."""

    date: str
    why: str


class MemoryStore:
    """The files of one memory: that of a project, or that of the user."""

    def __init__(self, root: Path, relative: str, title: str, journal: Path, prepare: Callable[[], object]) -> None:
        """The files are in `root / relative`; links below `root` are refused. `prepare` runs before each write.

        `journal`, in the user's directory, is where changes of several files are noted.
        """
        self.directory = root / relative
        self._root = root
        self._relative = Path(relative)
        self._title = title
        self._journal = journal
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
        self._finish_interrupted()
        return self._index()

    def read(self) -> MemoryContents:
        """The whole memory. Raises `MemoryProblem`."""
        self._finish_interrupted()
        return self._contents()

    def topics(self) -> Mapping[str, tuple[MemoryLine, ...]]:
        """The lines of every topic file, by topic. Raises `MemoryProblem`."""
        self._finish_interrupted()
        return self._topics()

    def _contents(self) -> MemoryContents:
        return MemoryContents(index=self._index(), topics=self._topics())

    def _index(self) -> tuple[MemoryLine, ...]:
        with self._reading(self._relative) as directory:
            return () if directory is None else _lines(directory / INDEX)

    def _topics(self) -> Mapping[str, tuple[MemoryLine, ...]]:
        with self._reading(self._relative / TOPICS) as directory:
            if directory is None:
                return {}
            names = sorted(path.name for path in directory.iterdir() if path.suffix == ".md" and not path.is_symlink())
            return {name.removesuffix(".md"): _lines(directory / name) for name in names[:MAX_TOPICS]}

    def add(self, entry: MemoryEntry) -> bool:
        """Add an entry to the index and its topic file; False if its text is there. Raises `MemoryProblem`."""
        with self._writing() as files:
            if any(existing.text.casefold() == entry.text.casefold() for existing in self._contents().entries):
                return False
            self._append(files, entry)
            return True

    def forget(self, entry_id: str) -> MemoryEntry | None:
        """Remove an entry from every file; None if there is no such entry. Raises `MemoryProblem`."""
        with self._writing() as files:
            contents = self._contents()
            entry = next((each for each in contents.entries if each.id == entry_id), None)
            if entry is not None:
                _remove_entry(files, INDEX, contents.index, entry_id)
                for topic, lines in contents.topics.items():
                    _remove_entry(files, f"{TOPICS}/{topic}.md", lines, entry_id)
            return entry

    def candidates(self) -> tuple[MemoryCandidate, ...]:
        """The candidates that wait for approval. Raises `MemoryProblem`."""
        self._finish_interrupted()
        return tuple(record for record in self._records() if record.state is CandidateState.PENDING)

    def propose(self, candidate: MemoryCandidate) -> bool:
        """Keep a candidate until the user decides; False if its text is an entry, or was a candidate before."""
        with self._writing() as files:
            records = self._records()
            text = candidate.entry.text.casefold()
            existing = (*self._contents().entries, *(each.entry for each in records))
            if any(each.text.casefold() == text for each in existing):
                return False
            _save_candidates(files, (*records, candidate))
            return True

    def decide(self, candidate_id: str, *, is_approved: bool) -> MemoryCandidate | None:
        """Approve a candidate, which adds its entry, or reject it; None if no such candidate waits."""
        with self._writing() as files:
            records = self._records()
            waiting = (record for record in records if record.state is CandidateState.PENDING)
            candidate = next((record for record in waiting if record.id == candidate_id), None)
            if candidate is None:
                return None
            if is_approved and candidate.entry.id not in {entry.id for entry in self._contents().entries}:
                self._append(files, candidate.entry)
            state = CandidateState.SAVED if is_approved else CandidateState.REJECTED
            decided = msgspec.structs.replace(candidate, state=state)
            _save_candidates(files, tuple(decided if record.id == candidate.id else record for record in records))
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
        with self._writing() as files:
            kept = {**self.failed_checks(), **failed}
            for entry_id in passed:
                kept.pop(entry_id, None)
            files.write(CHECKS, msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")

    def _append(self, files: Transaction, entry: MemoryEntry) -> None:
        contents = self._contents()
        _append_line(files, INDEX, contents.index, f"{self._title}\n", entry.line)
        lines = contents.topics.get(entry.topic, ())
        _append_line(files, f"{TOPICS}/{entry.topic}.md", lines, f"# {entry.topic}\n", entry.line)

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

    def _finish_interrupted(self) -> None:
        """Finish the change of a killed process. A memory that cannot be written is read as it is."""
        if os.path.lexists(self._journal):
            with suppress(MemoryProblem), self._writing():
                pass

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Open the directory of the memory, creating it if needed, and change its files together."""
        try:
            self._prepare()
            with (
                directory_inside(self._root, self._relative) as directory,
                transaction(directory, journal=self._journal, inside=(TOPICS,)) as files,
            ):
                yield files
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


def _append_line(files: Transaction, name: str, lines: Sequence[MemoryLine], heading: str, line: str) -> None:
    text = "".join(existing.text for existing in lines) or f"{heading}\n"
    end = "" if text.endswith("\n") else "\n"
    _write(files, name, f"{text}{end}{line}\n")


def _remove_entry(files: Transaction, name: str, lines: Sequence[MemoryLine], entry_id: str) -> None:
    kept = [line for line in lines if line.entry is None or line.entry.id != entry_id]
    if len(kept) < len(lines):
        _write(files, name, "".join(line.text for line in kept))


def _write(files: Transaction, name: str, text: str) -> None:
    files.write(name, text.encode("utf-8", "surrogateescape"))


def _save_candidates(files: Transaction, records: tuple[MemoryCandidate, ...]) -> None:
    """Write all waiting candidates, and the latest decided ones."""
    decided = [record for record in records if record.state is not CandidateState.PENDING]
    dropped = {record.id for record in decided[:-MAX_DECIDED]}
    kept = PendingFile(records=tuple(record for record in records if record.id not in dropped))
    files.write(PENDING, msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")


def _error_text(error: OSError) -> str:
    return error.strerror or str(error)
