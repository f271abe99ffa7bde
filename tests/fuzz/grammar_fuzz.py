"""Texts made up to crash the grammar of bash, which is native code, or to keep it busy; tried in child processes.

`make fuzz FUZZ="--grammar --minutes 30"` looks for one for that long. Before each text is read it stands in memory that
parent and child share, so that a child that was killed leaves behind what killed it.
"""

import faulthandler
import mmap
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from robota.workspace.shell.grammar import commands_within, skeletons
from robota.workspace.shell.reading import MAX_CHARACTERS, MAX_CHARACTERS_FOR_HINTS, read_script

Read = Callable[[str], object]
# Templates of constructs: each `@` is replaced by another piece.
CONSTRUCTS: Final = (
    *("@ @", "@;@", "@ && @", "@ || @", "@ | @", "@ |& @", "@ & @", "@\n@", "! @", "time @", "@@", "@ @ @"),
    *("'@'", '"@"', "$'@'", '$"@"', "\\@", "`@`", "$(@)", "$((@))", "$[@]", "${@}", "${#@}", "${!@}", "${@[@]}"),
    *("${@:-@}", "${@:=@}", "${@:+@}", "${@:?@}", "${@#@}", "${@##@}", "${@%@}", "${@%%@}", "${@/@/@}", "${@//@/@}"),
    *("${@/#@/@}", "${@^^@}", "${@,,@}", "${@@Q}", "${@:@:@}", "${@:(-@)}", "${!@*}", "${!@[@]}", "$@", "$1", "$$"),
    *("{@..@}", "{@..@..@}", "{@,@}", "{@,@,{@,@}}", "{ @; }", "(@)", "((@))", "<(@)", ">(@)", "@=(@ @)", "@=@"),
    *("@+=@", "@[@]=@", "declare -a @=@", "export @=@", "local @", "unset @", "[ @ ]", "[[ @ ]]", "[[ @ =~ @ ]]"),
    *("[[ @ == @ && @ ]]", "[[ -f @ ]]", "test @ -eq @", "@ > @", "@ >> @", "@ < @", "@ 2>&1", "@ &> @", "@ <> @"),
    *("@ >&@", "@ <&-", "{@}> @", "@ >| @", "@ <<< @", "@ <<E\n@\nE\n", "@ <<-E\n\t@\n\tE\n", "@ <<'E'\n@\nE\n"),
    *("@ <<E | @\n@\nE\n", "@ <<A <<B\n@\nA\n@\nB\n", "<<@\n@\n@\n", "if @; then @; elif @; then @; else @; fi"),
    *("for @ in @; do @; done", "for ((@;@;@)); do @; done", "while @; do @; done", "until @; do @; done"),
    *("select @ in @; do @; done", "case @ in @) @;; @|@) @;& *) @;;& esac", "@() { @; }", "function @ { @; }"),
    *("coproc @ { @; }", "#@\n", "@ #@", "?(@|@)", "*(@)", "+(@)", "@(@)", "!(@)", "[@-@]", "[!@]", "[[:@:]]"),
    *("~@", "~/@", "@*", "?@", "@ \\\n@", "\\\n", "@\r\n@", "a ? b : c", "@--", "++@", "16#@", "@**@", "@<<@", "-@"),
)
PLAIN: Final = (
    *("a", "x", "1", "2", "0", "9", "09", "-n", "-f", "--long=v", "word", "a.b", "/tmp/a", "~", ".", "..", "*", "?"),
    *("[ab]", "PATH", "IFS", "if", "fi", "do", "done", "in", "esac"),
)
SIGNS: Final = tuple("\"'`$\\{}()[]<>|&;!#=~*?@%^+-,./: \t\n\r\v\f\x00\x01\x1b\x7f")
# What ctype's tables do not know, halves of pairs, marks of direction, and the ends of the planes.
ODD: Final = tuple("éß\u0660\u200b\u202e\u2028\u3000\u3164\ufeff\ufffe漢\ud800\udc80\U0001f600\U00100000\U0010ffff")
ENDS: Final = ("", "", "", "\n", " ", "\\", "'", '"', "$(", "${", "<<", "<<A\n", "}", ")", "\0")
SECONDS_OF_ONE: Final = 1.0
MEMORY: Final = 2 * 1024**3
ROUND: Final = 2_000


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A text and what reading it did to the process."""

    text: str
    what: str


class Slowest(msgspec.Struct, frozen=True):
    """The text of a round that took longest, in seconds of the processor."""

    seconds: float
    text: str


def made_up(chance: random.Random) -> str:
    """One text: nested constructs, some of them broken by signs put in, taken out or said very often."""
    kind = chance.random()
    if kind < 0.5:
        text = _nested(chance, chance.randint(1, 5))
    elif kind < 0.6:
        text = "".join(chance.choice((*SIGNS, *PLAIN, *ODD)) for _ in range(chance.randint(0, 60)))
    elif kind < 0.7:
        text = _here_documents(chance)
    elif kind < 0.8:
        piece = _nested(chance, chance.randint(0, 2))
        text = piece * chance.choice((2, 3, 10, 50, 300))
    elif kind < 0.9:
        opening = chance.choice(
            ("(", "{ ", "$(", "${", '"$(', "`", "[[ ", "if ", "<(", "$((", "case ", "{", "a=(", "[", "{1..")
        )
        text = opening * chance.choice((2, 20, 200, 900)) + _nested(chance, 1)
    else:
        text = " ".join(_nested(chance, 1) for _ in range(chance.randint(1, 12)))
    text = text[: MAX_CHARACTERS_FOR_HINTS - 10]
    for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
        text = _mutated(text, chance)
    return text + chance.choice(ENDS)


def _nested(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(PLAIN) if chance.random() < 0.8 else chance.choice((*ODD, *SIGNS))
    return "".join(
        _nested(chance, depth - 1 if chance.random() < 0.6 else 0) if sign == "@" else sign
        for sign in chance.choice(CONSTRUCTS)
    )


def _here_documents(chance: random.Random) -> str:
    """Delimiters of any length, several at once, with and without an end: the scanner keeps them in 1,024 bytes."""
    count = chance.choice((1, 1, 2, 5, 40, 150, 300))
    marks = [chance.choice("AE\"'\\") * chance.choice((1, 1, 2, 250, 500, 1010, 1024)) for _ in range(count)]
    marks = [f"{mark}{number if chance.random() < 0.5 else ''}" for number, mark in enumerate(marks)]
    start = "".join(f"{chance.choice(('<<', '<<-', ' << '))}{mark}" for mark in marks)
    bodies = (f"{_nested(chance, 2)}\n{mark if chance.random() < 0.8 else ''}\n" for mark in marks)
    return f"{chance.choice(PLAIN)} {start}\n{''.join(bodies)}"


def _mutated(text: str, chance: random.Random) -> str:
    place = chance.randint(0, len(text))
    end = min(len(text), place + chance.choice((0, 1, 1, 2, 8)))
    match chance.randint(0, 3):
        case 0:
            return text[:place] + chance.choice((*SIGNS, *ODD)) + text[end:]
        case 1:
            return text[:place] + text[end:]
        case 2:
            return text[:end] + text[place:]
        case _:
            return text[:place] + "".join(reversed(text[place:end])) + text[end:]


def long_texts(chance: random.Random, count: int) -> Iterator[str]:
    """Plain commands of any length up to the longest that is judged, as only those are read whole."""
    words = (
        *PLAIN[:14],
        "'a b'",
        '"a b"',
        "\\;",
        "a=b",
        "'$(x)'",
        "'<<E'",
        '"{1..2}"',
        "# x\n",
        "2>&1",
        "> a",
        "|",
        "&&",
        ";",
        "\n",
    )
    for _ in range(count):
        unit = " ".join(chance.choice(words) for _ in range(chance.randint(1, 6))) + " "
        length = chance.choice((500, 5_000, 50_000, MAX_CHARACTERS))
        yield (unit * (length // len(unit) + 1))[:length]


def read_everything(text: str) -> None:
    """What judging a command makes the grammar read, and more: also what would not be given to it."""
    read_script(text)
    if len(text) <= MAX_CHARACTERS_FOR_HINTS:
        skeletons(text)
        commands_within(text)


def try_round(seed: int, count: int, read: Read = read_everything) -> Finding | Slowest:
    """Let a child read that many texts; what it was reading when it was killed or took too long, if it was."""
    with mmap.mmap(-1, 4 * MAX_CHARACTERS + 8) as shared:
        child = os.fork()
        if child == 0:
            _read_all(seed, count, shared, read)
        _, status = os.waitpid(child, 0)
        size = int.from_bytes(shared[:4], "big")
        seconds = int.from_bytes(shared[4:8], "big") / 1e6
        text = shared[8 : 8 + size].decode("utf-8", "surrogatepass")
    if os.WIFSIGNALED(status):
        return Finding(text=text, what=f"killed by signal {os.WTERMSIG(status)}")
    if os.WEXITSTATUS(status) != 0:
        return Finding(text=text, what="raised an exception, or took more memory than there is")
    if seconds > SECONDS_OF_ONE:
        return Finding(text=text, what=f"took {seconds:.1f} s of the processor")
    return Slowest(seconds, text)


def _read_all(seed: int, count: int, shared: mmap.mmap, read: Read) -> None:
    """The child; never returns."""
    code = 1
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        chance = random.Random(seed)
        worst = Slowest(0.0, "")
        texts = (*long_texts(chance, count // 200), *(made_up(chance) for _ in range(count)))
        for text in texts:
            _note(shared, 0.0, text)
            before = time.process_time()
            read(text)
            seconds = time.process_time() - before
            worst = max(worst, Slowest(seconds, text), key=lambda each: each.seconds)
            if seconds > SECONDS_OF_ONE:
                break
        _note(shared, worst.seconds, worst.text)
        code = 0
    finally:
        os._exit(code)


def _note(shared: mmap.mmap, seconds: float, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    shared[: 8 + len(data)] = len(data).to_bytes(4, "big") + int(seconds * 1e6).to_bytes(4, "big") + data


def search(minutes: float, seed: int) -> int:
    """Try other seeds, beginning with this one, until the time is over or something was found. The exit code."""
    end = time.monotonic() + minutes * 60
    texts = 0
    slowest = Slowest(0.0, "")
    while time.monotonic() < end:
        outcome = try_round(seed, ROUND)
        if isinstance(outcome, Finding):
            print(f"seed {seed}: {outcome.what}: {outcome.text!r}")
            return 1
        slowest = max(slowest, outcome, key=lambda each: each.seconds)
        texts += ROUND
        seed += 1
        if texts % (ROUND * 10) == 0:
            print(
                f"seed {seed}: {texts:,} texts, the slowest {slowest.seconds * 1000:.0f} ms: {slowest.text[:60]!r}",
                flush=True,
            )
    return 0
