"""Commands made up by Hypothesis, and what must hold for each: bash runs no word that was not judged.

`python -m tests.fuzz.shell_fuzz --minutes 10` looks for a counterexample for that long; with `--gate`, for a command
that runs unasked and does more than look; with `--grammar`, for a text that crashes the grammar of bash.
"""

import argparse
import os
import shlex
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Decision, Subject
from robota.policy.decide import decide
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.expansion import files_matching
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Plain, SimpleCommand
from robota.workspace.shell.wrappers import Unwrapped, unwrap
from tests.fuzz import grammar_fuzz
from tests.fuzz.gate.search import search
from tests.fuzz.kill.killing import search_kills
from tests.fuzz.shell_oracle import Ran, ShellOracle
from tests.hostile.attacks.random_rounds import search as search_hostile

PROGRAMS = st.sampled_from(
    [
        "ls",
        "cat",
        "git log",
        "git status",
        "git diff",
        "grep",
        "rg",
        "find",
        "sed",
        "echo",
        "printf",
        "cd",
        "pwd",
        "head",
        "sort",
        "wc",
        "rm",
        "evil",
        "sh",
        "eval",
        "exec",
        "export",
        "time",
        "timeout 5",
        "nohup",
        "env",
        "command",
        "xargs",
        "sudo",
        "nice",
        "true",
        "read",
        "set",
        ".",
        "source",
        "alias",
        "trap",
        "timeout",
        "uniq",
        "tail",
        "awk",
        "jq",
        "tree",
        "strings",
        "xxd",
    ]
)
WORDS = st.sampled_from(
    [
        "-la",
        "-n",
        "-5",
        "--all",
        "src",
        "a.py",
        "x=1",
        "a.b",
        "'q r'",
        '"q r"',
        '""',
        "''",
        "\\x",
        "5,9p",
        "%s",
        "%n",
        "HEAD~1",
        "~",
        "~/a",
        "*.py",
        "src/*.py",
        "a?.py",
        "[ab].py",
        "-e",
        "evil",
        "';'",
        '"&&"',
        "'$(evil)'",
        "-exec",
        "--pre=evil",
        "--output=o",
        "#c",
        "a#b",
        "@",
        "%",
        "+",
        ",",
        ":",
        "^",
        "=x",
        ".",
        "..",
        "--",
        "-",
        "in",
        "PATH",
        "IFS",
        "'`evil`'",
        "ls",
        "cat",
        "a=~",
        "a:~",
        "~+",
        "[",
        "]",
        "]]",
        "do",
        "\\[b\\]*",
        "['!'a]x",
        "[!a]x",
        "[a[^b]",
        "[^a*",
        "??x",
        "[\\^]",
        "[a-z]x",
        "''~/a",
        "9" * 20 + ">out",
        "{}",
        "\\;",
        "2",
        "1>out",
        "-f",
        "5*",
        "1*",
        "%*",
        "[0-9]*",
        "-U",
        "-k",
        "--format",
        "-L",
        "sub",
        "test",
    ]
)
JOINTS = st.sampled_from([" && ", " || ", "; ", " | ", "\n", ";", "|", "&&", " \n\n", " ;\n"])
TAME_REDIRECTS = st.sampled_from([" > out", " 2>&1", " >> out", " < in", " 2>/dev/null", " &> out", " >| out", " >&2"])
TRICKS = st.sampled_from(
    [
        "$(evil)",
        "`evil`",
        "${x}",
        "$x",
        "$IFS",
        "${x:-evil}",
        "${!x}",
        "${x@P}",
        "$((1))",
        "$[1]",
        "<(evil)",
        ">(evil)",
        "<<E\n",
        "\nE\n",
        "<<<evil",
        "<<-E\n",
        "&",
        " & ",
        "|&",
        "{evil,x}",
        "{ ",
        " }",
        "(",
        ")",
        "!",
        "! ",
        "if ",
        "then ",
        "fi",
        "while ",
        "do ",
        "done",
        "for x in ",
        "case x in ",
        "esac",
        ";;",
        "[[ ",
        " ]]",
        "((",
        "))",
        "\\",
        "\\\n",
        "'",
        '"',
        "$'",
        '$"',
        '"$(evil)"',
        "#",
        "~",
        "~root",
        "*",
        "?",
        "[",
        "]",
        "=",
        "x=1 ",
        "x+=1 ",
        "a[0]=1 ",
        "\x01",
        "\r",
        "\r\n",
        "\t",
        "\v",
        "\f",
        "\x7f",
        "\u202e",
        "\u00a0",
        "\u200b",
        "\u2028",
        "é",
        "coproc ",
        "function f ",
        "f() ",
        "time ",
        "evil",
        "\nevil",
        ";evil",
        "&evil",
        "|evil",
        " -",
        "--",
        "'evil'",
        "\\evil",
        "e\\vil",
        'e"v"il',
        ">",
        "<",
        ">&",
        "<&",
        "<>",
        "2>",
        "1>&2>",
        "{fd}>",
        "3<",
        "$\\\n(evil)",
        "\\\r\n",
        "'\\''",
        '"\\""',
        '"\\\\"',
        "'\n'",
        '"\nevil\n"',
    ]
)
SIMPLE = st.builds(
    lambda program, words, redirect: " ".join([program, *words]) + redirect,
    PROGRAMS,
    st.lists(WORDS, max_size=4),
    st.just("") | TAME_REDIRECTS,
)


@st.composite
def commands(draw: st.DrawFn) -> str:
    """Mostly plain commands, some with a trick put in at a random place."""
    pieces = [draw(SIMPLE)]
    for _ in range(draw(st.integers(0, 3))):
        pieces += [draw(JOINTS), draw(SIMPLE)]
    text = "".join(pieces)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3]))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(TRICKS) + text[place:]
    return text


def check(oracle: ShellOracle, command: str) -> None:
    """Raise `AssertionError` if bash does anything that was not judged."""
    script = read_script(command)
    allowed = is_allowed(oracle, command)
    if not isinstance(script, Plain):
        assert not allowed, f"{command!r} was not understood, and allowed"
        return
    ran = oracle.run(command)
    unexpected = [words for words in ran.commands if not any(fits(words, each, oracle) for each in script.commands)]
    assert not unexpected, f"{command!r} ran {unexpected}, which was not judged"
    targets = {Path(redirect.target).name for each in script.commands for redirect in each.redirects if redirect.writes}
    assert {Path(name).name for name in ran.created} <= targets, f"{command!r} wrote {ran.created}"
    if allowed:
        assert_harmless(oracle, command, ran)


def assert_harmless(oracle: ShellOracle, command: str, ran: Ran) -> None:
    """What ran, with every pattern replaced by names of files, is allowed as well."""
    assert not ran.created, f"{command!r} was allowed, and wrote {ran.created}"
    for words in ran.commands:
        assert is_allowed(oracle, shlex.join(words)), f"{command!r} was allowed, and ran {words}, which is not"
        assert words[0] not in {"rm", "evil", "sh", "eval", "exec", "sudo", "env", "xargs", "export"}, command


def is_allowed(oracle: ShellOracle, command: str) -> bool:
    subject = Subject(
        tool="execute_command",
        label="Bash",
        effects=frozenset({Effect.EXECUTE}),
        touches=Touches(command=command),
        mode="code",
    )
    resolver = PathResolver(root=oracle.workspace, home=oracle.home, real=os.path.realpath, matching=files_matching)
    return decide(subject, PolicyContext(mode=PermissionMode.DEFAULT, resolver=resolver)).decision is Decision.ALLOW


def fits(words: tuple[str, ...], judged: SimpleCommand, oracle: ShellOracle) -> bool:
    """Whether what ran is what was judged, patterns replaced by names and `~` by the home directory."""
    for argv in readings(judged.argv):
        skipped = len(judged.argv) - len(argv)
        globs = {place - skipped for place in judged.globs}
        wanted = [_at_home(word, oracle) for place, word in enumerate(argv) if place not in globs]
        kept = iter(words)
        if words[:1] == argv[:1] and (list(words) == wanted if not globs else all(word in kept for word in wanted)):
            return True
    return False


def readings(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The command as it stands and behind its wrappers; `time` is a keyword, which takes any word for a command."""
    unwrapped = unwrap(argv)
    inner = unwrapped.inner if isinstance(unwrapped, Unwrapped) else None
    behind_time = [argv[1:], *readings(argv[1:])] if argv[:1] == ("time",) and argv[1:] else []
    return [argv, *([inner] if inner else []), *behind_time]


def _at_home(word: str, oracle: ShellOracle) -> str:
    return str(oracle.home) + word[1:] if word == "~" or word.startswith("~/") else word


def look(oracle: ShellOracle, examples: int) -> None:
    """Try that many commands."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(commands())
    def try_one(command: str) -> None:
        check(oracle, command)

    try_one()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kills", type=int, metavar="N", help="kill N sessions at random points and take them up")
    parser.add_argument("--gate", action="store_true", help="really run what policy calls read-only, under strace")
    parser.add_argument("--grammar", action="store_true", help="look for a text that crashes the grammar of bash")
    parser.add_argument("--hostile", action="store_true", help="attack random workspaces from inside the sandbox")
    parser.add_argument("--seed", type=int, default=1, help="where --gate, --grammar and --hostile begin")
    options = parser.parse_args()
    if options.grammar:
        return grammar_fuzz.search(options.minutes, options.seed)
    if options.kills is not None:
        return search_kills(options.kills, options.seed)
    if options.hostile:
        return search_hostile(options.minutes, options.seed)
    if options.gate:
        return search(options.minutes, options.seed)
    end = time.monotonic() + options.minutes * 60
    rounds = 0
    with tempfile.TemporaryDirectory() as directory:
        oracle = ShellOracle(Path(directory))
        while time.monotonic() < end:
            look(oracle, 1_000)
            rounds += 1
            print(f"{rounds * 1_000:,} commands, and bash ran nothing that was not judged", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
