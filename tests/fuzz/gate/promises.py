"""What a command that runs unasked may do, and what of what it did breaks the promise.

It changes nothing, runs no program but the one that it names, reaches nobody, and reads only files of the workspace
that the file tool would read unasked. The few things besides are listed here, each with the reason why.
"""

import fnmatch
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, assert_never

import msgspec

from tests.fuzz.gate.batch import Observed
from tests.fuzz.gate.judging import Case, TreePolicy, search_path
from tests.fuzz.gate.trace import Connected, Effect, Executed, Read, Wrote
from tests.fuzz.gate.trees import DENIED, DENIED_WORD, IGNORED_WORD, OUTSIDE_WORD, SECRET_WORD, Tree

Kind = Literal[
    "writes",
    "runs",
    "connects",
    "reads outside",
    "reads a secret",
    "reads what is denied",
    "reads what is ignored",
]

# Written to, nothing is kept.
SINKS: Final = frozenset({"/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr"})
# Only asked for their version; what they read of themselves to say it is not ours.
VERSIONS: Final = "python python3 node npm ruby perl gcc g++ clang make cmake docker gh pip pip3 sqlite3 psql ruff uv"
# Patterns of system files with the programs that read them ("*": all) and why.
SYSTEM_FILES: Final = (
    ("/usr/lib*", "*", "libraries, locales, and modules of interpreters"),
    ("/lib*", "*", "libraries"),
    ("/etc/ld.so.*", "*", "where libraries are"),
    ("/usr/share/locale*", "*", "messages in other languages"),
    ("/etc/locale.alias", "*", "messages in other languages"),
    ("/usr/share/zoneinfo/*", "*", "time zones"),
    ("/etc/localtime", "*", "the time zone"),
    ("/proc/self/*", "*", "the process itself"),
    ("/proc/[0-9]*", "*", "the process itself, by its number"),
    ("/proc/filesystems", "*", "whether SELinux is there"),
    ("/sys/fs/cgroup/*", "*", "how many processors may be used"),
    ("/sys/devices/system/cpu*", "*", "how many processors there are"),
    ("/proc/sys/vm/overcommit_memory", "*", "how memory is given out, which allocators ask for"),
    ("/sys/kernel/mm/transparent_hugepage/*", "*", "the same"),
    ("/dev/null", "*", "empty"),
    ("/dev/urandom", "*", "random numbers"),
    ("/dev/tty", "*", "the terminal"),
    ("/etc/nsswitch.conf", "*", "names of users"),
    ("/etc/passwd", "bash cd ls find stat tree git whoami du psql test sort", "names of users"),
    ("/etc/group", "ls find stat tree", "names of groups"),
    ("/etc/terminfo/*", "*", "the terminal"),
    ("/usr/share/terminfo/*", "*", "the terminal"),
    ("/etc/gitconfig", "git rg", "configuration of the machine"),
    ("/usr/share/git-core/*", "git", "templates"),
    ("/etc/magic*", "file", "kinds of files"),
    ("/usr/share/misc/magic*", "file", "kinds of files"),
    ("/usr/share/file/*", "file", "kinds of files"),
    ("/proc*", "free uptime df lscpu sort nproc", "what the kernel knows of the machine"),
    ("/sys/*", "lscpu nproc", "what the kernel knows of the processors"),
    ("/run/utmp", "uptime", "when the machine started"),
    ("/var/run/utmp", "uptime", "when the machine started"),
    ("/etc/mtab", "df", "mounted disks"),
    ("/usr/bin/*", "egrep fgrep which npm file", "scripts that are the program"),
    (f"{sys.base_prefix}/*", VERSIONS, "the Python that the tests run on"),
    ("/usr/*", VERSIONS, "parts of a program that is asked for its version"),
    ("/etc/*", VERSIONS, "the same"),
    ("/proc/*", VERSIONS, "the same"),
    ("/sys/*", VERSIONS, "the same"),
    ("/etc/alternatives/*", "*", "which of several programs is meant"),
)
HOME_FILES: Final = (
    (".gitconfig", "git rg", "the user's configuration, where git and rg look for what to ignore"),
    (".config/git/*", "git rg", "the same"),
)
# Programs that are others under another name, or whose parts are programs.
RUN_BY: Final = {
    "egrep": ("grep",),
    "fgrep": ("grep",),
    "git": ("git", "git-*"),
    "npm": ("node",),
    "awk": ("mawk", "gawk", "original-awk"),
    "which": ("which.debianutils",),
    "zcat": ("gzip",),
    "zgrep": ("gzip", "grep", "sed"),
    "sdiff": ("diff",),
    "diff3": ("diff",),
}
SHELL: Final = "/bin/bash"
NAME_SERVICE: Final = re.compile(r'sun_path="/(?:var/)?run/(?:nscd/socket|systemd/userdb/[\w.-]+)"')
# A socket alone reaches nobody. AF_NETLINK asks the kernel which interfaces there are, and binding to the own machine
# finds out whether it knows IPv6; node and pip do so before they say their version.
HARMLESS_SOCKET: Final = re.compile(
    r'AF_UNIX, SOCK_|AF_NETLINK, SOCK_|.*sa_family=AF_NETLINK|.*"::1"|AF_INET6, SOCK_STREAM'
)
WORDS: Final[dict[str, Kind]] = {
    OUTSIDE_WORD: "reads outside",
    SECRET_WORD: "reads a secret",
    DENIED_WORD: "reads what is denied",
    IGNORED_WORD: "reads what is ignored",
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that a command broke."""

    case: Case
    kind: Kind
    detail: str

    def __str__(self) -> str:
        return f"{self.case.tree}:{self.case.cwd}$ {self.case.text}\n    {self.kind}: {self.detail}"


def broken_promises(case: Case, observed: Observed, tree: Tree, policy: TreePolicy) -> list[Finding]:
    """Everything that the command did and may not do without being asked about."""
    found: dict[tuple[Kind, str], None] = {}
    starts_in_a_shell = observed.effects[:1] == [Executed(SHELL)]
    for effect in observed.effects[1 if starts_in_a_shell else 0 :]:
        kind = _kind(effect, case, tree, policy)
        if kind is not None:
            found[kind, _detail(effect)] = None
    for word, kind in WORDS.items():
        if word in observed.output:
            found[kind, f"prints {word!r}"] = None
    if any(kind == "reads what is denied" for kind, _ in found) and not policy.runs_unasked(case, denying=True):
        found = {key: None for key in found if key[0] != "reads what is denied"}
    return [Finding(case=case, kind=kind, detail=detail) for kind, detail in found]


def programs_of(case: Case) -> list[str]:
    """The programs that the simple commands of the text name, in their order."""
    words = ["&&", *shlex.split(case.text)]
    return [word for before, word in pairwise(words) if before in {"&&", "|"}]


def _kind(effect: Effect, case: Case, tree: Tree, policy: TreePolicy) -> Kind | None:
    match effect:
        case Wrote(path=path):
            return None if path in SINKS else "writes"
        case Executed(path=path):
            return None if _is_named(path, case) else "runs"
        case Connected(address=address):
            is_lookup = NAME_SERVICE.search(address) or HARMLESS_SOCKET.match(address)
            return None if is_lookup else "connects"
        case Read(path=path):
            return _kind_of_reading(path, case, tree, policy)
        case _:
            assert_never(effect)


def _kind_of_reading(path: str, case: Case, tree: Tree, policy: TreePolicy) -> Kind | None:
    if not Path(path).is_relative_to(tree.root):
        return None if _is_of_the_system(path, case, tree) else "reads outside"
    place = str(Path(path).relative_to(tree.root))
    if Path(path).is_dir() or "git" in programs_of(case):
        # git compares files with what it knows of them; what matters is what it prints.
        return None
    if place == DENIED:
        return "reads what is denied"
    if place.startswith("ignored/"):
        return "reads what is ignored"
    return None if policy.may_be_read(path) else "reads a secret"


def _is_of_the_system(path: str, case: Case, tree: Tree) -> bool:
    programs = {*programs_of(case), "*"}
    if not path.startswith("/"):
        # A pipe or the like.
        return True
    listed = (*SYSTEM_FILES, *((f"{tree.home}/{name}", who, why) for name, who, why in HOME_FILES))
    return any(fnmatch.fnmatchcase(path, pattern) and programs & set(who.split()) for pattern, who, _ in listed)


def _is_named(path: str, case: Case) -> bool:
    name = Path(path).name
    known = [each for program in programs_of(case) for each in (program, *RUN_BY.get(program, ()))]
    return any(fnmatch.fnmatchcase(name, each) for each in known) and path.startswith(
        ("/usr/", *search_path().split(":"))
    )


def _detail(effect: Effect) -> str:
    match effect:
        case Wrote(path=path, call=call):
            return f"{call} {path}"
        case Executed(path=path) | Read(path=path):
            return path
        case Connected(address=address):
            return address
        case _:
            assert_never(effect)
