"""Verbs: one declaration gives the sub-command, the slash command, completion, help and JSON."""

import asyncio
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.cli.shell_host import ShellHost
from robota.cli.subcommands import SUBCOMMANDS
from robota.cli.verb_command import run_family
from robota.cli.verb_parser import family_parser, parsed_arguments
from robota.commands.arguments import written
from robota.commands.command import SlashCommand
from robota.commands.families import mcp
from robota.commands.family_command import family_command
from robota.commands.typed_words import parse_typed
from robota.commands.verb import Answer, Family, ShellVerb, Verb, WrongArguments, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional, RestOfLine, TextOption
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown
from robota.protocol.views import TextView
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

ROOT = Path(__file__).parents[2]
MAX_EXAMPLE_LINES = 60


@pytest.fixture
def example(workspace: Path) -> Family:
    """The family in the contributing page, in a workspace with a file of two lines."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert found is not None and found[1].count("\n") < MAX_EXAMPLE_LINES
    module = ModuleType("example")
    exec(compile(found[1], "CONTRIBUTING.md", "exec"), module.__dict__)
    (workspace / "two.txt").write_text("1\n2\n")
    (workspace / ".one").write_text("1\n")
    family: Family = module.FAMILY
    return family


@pytest.fixture
def typed(example: Family, workspace: Path) -> SlashCommand:
    return family_command(example, ShellHost(workspace, {"HOME": str(workspace)}, is_json=False))


def outcome(typed: SlashCommand, words: str) -> CommandOutcome | Refused:
    async def run() -> CommandOutcome | Refused:
        return await typed.run(words)

    return asyncio.run(run())


Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ran(example: Family, workspace: Path, capsys: pytest.CaptureFixture[str]) -> Ran:
    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = run_family(example, [*words, *([] if "--help" in words else ["--cwd", str(workspace)])])
        except SystemExit as leaving:
            code = int(str(leaving.code or 0))
        return (code, *capsys.readouterr())

    return run


def test_the_example_is_a_sub_command(ran: Ran) -> None:
    assert ran("count", "two.txt")[:2] == (0, "two.txt has 2 lines.\n")
    assert "two.txt" in ran("list")[1] and ".one" not in ran("list")[1]
    assert "count lines" in ran("--help")[1] and "below the workspace" in ran("list", "--help")[1]
    code, _, said = ran("count")
    assert code == 2 and "Missing: PATH." in said
    code, _, said = ran("count", "nowhere")
    assert code == 1 and "nowhere" in said


def test_the_example_prints_json(ran: Ran) -> None:
    assert json.loads(ran("count", "two.txt", "--json")[1]) == {"path": "two.txt", "lines": 2}
    names = [each["name"] for each in json.loads(ran("list", "--hidden", "--at-most", "2", "--json")[1])]
    assert len(names) == 2 and names[0].startswith(".")


def test_the_example_is_a_slash_command(typed: SlashCommand) -> None:
    shown = outcome(typed, "count two.txt")
    assert shown == CommandShown(view=TextView(text="two.txt has 2 lines."))
    assert isinstance(outcome(typed, ""), CommandShown), "the default verb"
    for words, said in {
        "count": "count needs the path. Usage: /files count PATH. Nothing was changed.",
        "fly": "Invalid action 'fly'. Usage: /files [list | count]. Nothing was changed.",
        "list --fast": "There is no option --fast here.",
        "list --at-most many": "N must be a whole number.",
        "count two.txt three.txt": "'three.txt' does not belong here.",
        "count nowhere": "No such file",
    }.items():
        refused = outcome(typed, words)
        assert isinstance(refused, Refused) and said in refused.message


def test_the_example_completes_verbs_values_and_options(typed: SlashCommand) -> None:
    assert [(each.name, each.argument_hint) for each in typed.info.subcommands] == [
        ("list", "[--hidden] [DIR] [--at-most N]"),
        ("count", "PATH"),
    ]
    assert "two.txt" in {each.name for each in typed.complete(("count",))}
    assert not list(typed.complete(("count", "two.txt")))
    offered = [each.name for each in typed.complete(("list", ".", "--hidden"))]
    assert offered == ["--at-most"], "one that was given is not offered again"


def test_a_table_fits_on_the_terminal(robota: Robota) -> None:
    text = "The release notes are written by hand, never by a script, and reviewed by two of us."
    assert robota("memory", "add", "project", "notes", text).code == 0
    with Terminal(robota, "memory", "list", size=(100, 24)) as terminal:
        assert terminal.end() == 0
    assert max(map(len, terminal.screen.splitlines())) <= 100
    assert all(word in terminal.screen for word in text.split())


class Everything(msgspec.Struct, frozen=True, kw_only=True):
    """Each kind of argument."""

    first: Annotated[str, Positional("FIRST")]
    size: Annotated[Literal["small", "large"] | None, Positional("SIZE")] = None
    fast: Annotated[bool, Option("a flag")] = False
    count: Annotated[int | None, Option("a number", "N")] = None
    only: Annotated[tuple[str, ...], Option("repeatable", "PATH")] = ()


def _nothing(host: VerbHost, wanted: msgspec.Struct) -> Answer:
    return told("done")


EVERYTHING = Verb("go", "go", Everything, _nothing)
FAMILY = Family(name="all", about="All.", description="all", verbs=(EVERYTHING,))
VALUE = st.text(st.characters(exclude_categories=["C"]), min_size=1).filter(lambda text: not text.startswith("-"))


@given(
    st.builds(
        Everything,
        first=VALUE,
        size=st.none() | st.sampled_from(["small", "large"]),
        fast=st.booleans(),
        count=st.none() | st.integers(0, 10**9),
        only=st.lists(VALUE).map(tuple),
    ),
    st.booleans(),
)
def test_a_shell_and_a_conversation_read_the_same_arguments(wanted: Everything, options_first: bool) -> None:
    options = [
        *(["--fast"] if wanted.fast else []),
        *([] if wanted.count is None else ["--count", str(wanted.count)]),
        *(word for path in wanted.only for word in ("--only", path)),
    ]
    words = [wanted.first, *([] if wanted.size is None else [wanted.size])]
    line = [*options, *words] if options_first else [*words, *options]
    assert parse_typed(EVERYTHING, shlex.join(line)) == wanted
    assert parse_typed(EVERYTHING, shlex.join(written(wanted))) == wanted
    assert parsed_arguments(EVERYTHING, family_parser(FAMILY).read(["go", *line])) == wanted


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """A text, with an option before it and one behind it."""

    loud: Annotated[bool, Option("a flag")] = False
    then: Annotated[str | None, TextOption("a command", "COMMAND")] = None
    text: Annotated[str, RestOfLine("TEXT")]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("don't  stop", Saying(text="don't  stop")),
        ('--loud it\'s "so"', Saying(loud=True, text='it\'s "so"')),
        ("run it --then make 'a b'", Saying(text="run it", then="make 'a b'")),
        ("--quiet is a word", Saying(text="--quiet is a word")),
    ],
)
def test_a_text_is_read_as_it_was_typed(typed: str, meant: Saying) -> None:
    assert parse_typed(Verb("say", "say", Saying, _nothing), typed) == meant


@pytest.mark.parametrize("typed", ["", "--loud", "--then make", "x --then"])
def test_a_text_and_the_value_of_an_option_are_not_optional(typed: str) -> None:
    with pytest.raises(WrongArguments):
        parse_typed(Verb("say", "say", Saying, _nothing), typed)


def test_a_line_with_open_quotes_is_refused() -> None:
    with pytest.raises(WrongArguments, match="Unbalanced quotes"):
        parse_typed(EVERYTHING, "it's")


def every_verb(family: Family) -> Iterator[Verb[msgspec.Struct]]:
    for each in (*family.verbs, *(() if family.main is None else (family.main,))):
        yield from every_verb(each) if isinstance(each, Family) else (each,)


@pytest.mark.parametrize("name", [name for name, (module, _) in SUBCOMMANDS.items() if ".families." in module])
def test_every_verb_can_be_loaded_and_takes_its_arguments(name: str) -> None:
    """Functions that are named as `module:function` exist, and take the struct that their verb declares."""
    verbs = list(every_verb(import_module(SUBCOMMANDS[name][0]).FAMILY))
    assert verbs
    for verb in verbs:
        *_, arguments = inspect.signature(verb.load(), eval_str=True).parameters.values()
        assert issubclass(verb.arguments, arguments.annotation), f"{name} {verb.name}"


@pytest.mark.parametrize("name", [name for name, (module, _) in SUBCOMMANDS.items() if ".families." in module])
def test_a_verb_that_only_a_shell_has_says_why(name: str) -> None:
    for verb in every_verb(import_module(SUBCOMMANDS[name][0]).FAMILY):
        if isinstance(verb, ShellVerb):
            assert verb.reason, f"{name} {verb.name}"


def test_a_verb_of_a_shell_is_refused_in_a_conversation_with_its_reason(robota: Robota) -> None:
    refused = robota("-p", "/mcp serve --permission-mode plan")
    assert refused.code == 1
    assert (
        "it speaks MCP on standard input and output. There: robota mcp serve --permission-mode plan" in refused.stderr
    )


def test_a_program_in_a_slash_command_keeps_its_options() -> None:
    add = next(verb for verb in every_verb(mcp.FAMILY) if verb.name == "add")
    parsed = parse_typed(add, "--scope user fs npx -y server --flag")
    assert isinstance(parsed, mcp.AddServer)
    assert (parsed.server, parsed.program) == ("fs", ("npx", "-y", "server", "--flag"))


def test_a_command_in_a_slash_command_follows_the_options(robota: Robota) -> None:
    said = robota("-p", "/policy explain --mode plan -- git push --force")
    assert said.stdout.startswith("deny: Plan mode") and "git push --force" in said.stdout
