"""What commands did, read from the output of strace."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

MARK: Final = re.compile(r'"/gate-mark/(\d+)"')
LINE: Final = re.compile(r"(\d+) +(.*)", re.DOTALL)
UNFINISHED: Final = " <unfinished ...>"
RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>(.*)", re.DOTALL)
CALL: Final = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)(?:<((?:[^<>\\]|\\.)*)(?:<[^>]*>)?>)?(.*)", re.DOTALL)
STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPE: Final = re.compile(r"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)")
NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}

STARTS: Final = ("clone", "clone3", "fork", "vfork")
OPENS: Final = ("open", "openat", "openat2")
EXECS: Final = ("execve", "execveat")
CONNECTS: Final = ("socket", "connect", "bind", "sendto", "sendmsg")
# Whatever they are called on, these change something.
CHANGES: Final = tuple(
    """
    creat mkdir mkdirat mknod mknodat unlink unlinkat rmdir rename renameat renameat2 link linkat symlink symlinkat
    chmod fchmod fchmodat chown fchown lchown fchownat utime utimes utimensat futimesat truncate setxattr lsetxattr
    fsetxattr removexattr lremovexattr fremovexattr mount umount2
    """.split()
)
TRACED: Final = (*STARTS, *OPENS, *EXECS, *CONNECTS, *CHANGES)
OPENED_TO_WRITE: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE")
# By such a descriptor nothing can be read; what is opened from there on is seen by itself.
OPENED_AS_A_PLACE: Final = "O_PATH"


class Wrote(msgspec.Struct, frozen=True, tag=True):
    """It tried to change a file, whether or not it could."""

    path: str
    call: str


class Read(msgspec.Struct, frozen=True, tag=True):
    """It opened a file; `path` is where that really is."""

    path: str


class Executed(msgspec.Struct, frozen=True, tag=True):
    """It became another program."""

    path: str


class Connected(msgspec.Struct, frozen=True, tag=True):
    """It made or used a socket."""

    address: str


Effect = Wrote | Read | Executed | Connected


def effects_by_case(trace: Iterable[str]) -> dict[int, list[Effect]]:
    """What the processes of each case did after its mark, in order."""
    cases: dict[int, int] = {}
    parents: dict[int, int] = {}
    calls = list(_whole_calls(trace))
    for pid, name, arguments, result, _ in calls:
        if name in STARTS and result.isdigit():
            parents[int(result)] = pid
        elif name in OPENS and (mark := MARK.search(arguments)):
            cases[pid] = int(mark[1])
    found: dict[int, list[Effect]] = {case: [] for case in cases.values()}
    started: set[int] = set()
    for pid, name, arguments, result, place in calls:
        case = _case_of(pid, cases, parents)
        if case is None:
            continue
        if case not in started:
            # Before the mark it is still the driver.
            if MARK.search(arguments):
                started.add(case)
            continue
        effect = _effect(name, arguments, result, place)
        if effect is not None:
            found[case].append(effect)
    return found


def _case_of(pid: int, cases: dict[int, int], parents: dict[int, int]) -> int | None:
    while pid not in cases:
        if pid not in parents:
            return None
        pid = parents[pid]
    return cases[pid]


def _whole_calls(trace: Iterable[str]) -> Iterator[tuple[int, str, str, str, str]]:
    """Process, name, arguments, result and the place that a returned descriptor stands for."""
    begun: dict[str, str] = {}
    for line in trace:
        found = LINE.fullmatch(line.rstrip("\n"))
        if found is None:
            continue
        pid, text = found.groups()
        if text.endswith(UNFINISHED):
            begun[pid] = text.removesuffix(UNFINISHED)
            continue
        if resumed := RESUMED.fullmatch(text):
            text = begun.pop(pid, "") + resumed[1]
        if call := CALL.fullmatch(text):
            name, arguments, result, place, failure = call.groups()
            yield int(pid), name, arguments, result if result != "-1" else failure.strip(), _unescaped(place or "")


def _effect(name: str, arguments: str, result: str, place: str) -> Effect | None:
    path = _unescaped(found[1]) if (found := STRING.search(arguments)) else arguments
    if name in OPENS:
        how = arguments[arguments.rfind('"') :]
        if OPENED_TO_WRITE.search(how):
            return Wrote(place or path, name)
        return Read(place) if place and OPENED_AS_A_PLACE not in how else None
    if name in EXECS:
        return None if result.startswith("ENOENT") else Executed(path)
    if name in CONNECTS:
        return Connected(arguments)
    return Wrote(path, name) if name in CHANGES else None


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        return chr(int(code, 8)) if code[0].isdigit() else NAMED.get(code, code)

    # Bytes above 127 are written one by one.
    return ESCAPE.sub(character, text).encode("latin-1", "surrogateescape").decode("utf-8", "surrogateescape")
