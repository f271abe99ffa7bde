"""Find the real command inside wrappers, programs such as `env` or `nice` that only start another program."""

import re
from typing import Final

import msgspec

from robota.workspace.shell.script import KEYWORDS, STATEFUL, Argv, is_assignment

MAX_DEPTH: Final = 8
NUMBER: Final = re.compile(r"-[0-9]+")


class Wrapper(msgspec.Struct, frozen=True, kw_only=True):
    """How to distinguish the words of a wrapper from the command in it.

    `valued` flags take the next word as their value; `own_words` is the number of words before the command. A
    `faithful` wrapper runs the command unchanged; others change its rights, variables, arguments or lifetime. For one
    that `counts`, a number is a flag.
    """

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    own_words: int = 0
    faithful: bool = False
    takes_assignments: bool = False
    counts: bool = False


def _wrapper(flags: str = "", valued: str = "", *, own_words: int = 0, faithful: bool = False) -> Wrapper:
    return Wrapper(
        flags=frozenset(flags.split()), valued=frozenset(valued.split()), own_words=own_words, faithful=faithful
    )


WRAPPERS: Final[dict[str, Wrapper]] = {
    "time": _wrapper("-p", faithful=True),
    "timeout": _wrapper("--foreground --preserve-status -v --verbose", "-k -s", own_words=1, faithful=True),
    "nice": Wrapper(valued=frozenset({"-n"}), faithful=True, counts=True),
    "nohup": _wrapper(faithful=True),
    "stdbuf": _wrapper("", "-i -o -e", faithful=True),
    "command": _wrapper(faithful=True),
    "env": Wrapper(
        flags=frozenset({"-i", "-", "--ignore-environment", "-0", "--null"}),
        valued=frozenset({"-u", "--unset", "-C", "--chdir"}),
        takes_assignments=True,
    ),
    "sudo": Wrapper(
        flags=frozenset("-A -b -E -H -n -P -S -k -K -i -s".split()),
        valued=frozenset("-u -g -h -p -C -D -R -T -r -t".split()),
        takes_assignments=True,
    ),
    "doas": _wrapper("-n -s", "-u -C"),
    "setsid": _wrapper("-c -f -w --ctty --fork --wait"),
    "ionice": _wrapper("-t", "-c -n"),
    "chrt": _wrapper("-b -f -i -o -r", own_words=1),
    "taskset": _wrapper("-a -c", own_words=1),
    "watch": _wrapper("-b -c -d -e -g -t -x -w", "-n -q"),
    "xargs": _wrapper("-0 -r -t -p -x -o", "-n -I -P -d -L -a -E -s"),
    "chroot": _wrapper(own_words=1),
    "flock": _wrapper("-s -x -e -u -n -o -F", "-w -E", own_words=1),
    "busybox": _wrapper(),
    "strace": _wrapper("-f -ff -q -c -C -v -y", "-e -o -p -s -u"),
}


class Unwrapped(msgspec.Struct, frozen=True, kw_only=True):
    """A command without its wrappers, which are in `wrappers`, the outermost first.

    `inner` is None if the command could not be found. It is `faithful` if no wrapper changes how it runs.
    """

    inner: Argv | None
    wrappers: tuple[str, ...] = ()
    faithful: bool = True


class TooDeep(msgspec.Struct, frozen=True, kw_only=True):
    """More nested wrappers than `MAX_DEPTH`."""


def unwrap(argv: Argv) -> Unwrapped | TooDeep:
    """Remove all wrappers."""
    names: list[str] = []
    faithful = True
    inner = argv
    while (wrapper := WRAPPERS.get(program(inner))) is not None:
        if len(names) == MAX_DEPTH:
            return TooDeep()
        names.append(program(inner))
        # A program of the same name in the workspace is not the wrapper we know.
        faithful = faithful and wrapper.faithful and "/" not in inner[0]
        wrapped = _within(wrapper, inner[1:])
        if wrapped is None or _changes_the_shell(wrapped[0]):
            return Unwrapped(inner=None, wrappers=tuple(names), faithful=False)
        inner = wrapped
    return Unwrapped(inner=inner, wrappers=tuple(names), faithful=faithful)


def program(argv: Argv) -> str:
    """The name of the program without its directory."""
    return argv[0].rpartition("/")[2]


def _within(wrapper: Wrapper, words: Argv) -> Argv | None:
    """The command after a wrapper's own words; None if there is none or a flag is unknown."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        index += 1
        if word == "--":
            break
        if word in wrapper.valued:
            index += 1
        elif word not in wrapper.flags and not _has_value_attached(word, wrapper):
            return None
    if wrapper.takes_assignments:
        while index < len(words) and is_assignment(words[index]):
            index += 1
    return words[index + wrapper.own_words :] or None


def _has_value_attached(word: str, wrapper: Wrapper) -> bool:
    """Whether the word is like `-n5` or `--adjustment=5`, or like `nice -5`, an old way to write a number."""
    if wrapper.counts and NUMBER.fullmatch(word):
        return True
    return word[:2] in wrapper.valued or word.partition("=")[0] in wrapper.valued


def _changes_the_shell(name: str) -> bool:
    return is_assignment(name) or name in KEYWORDS or name in STATEFUL
