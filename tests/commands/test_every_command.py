"""Every built-in command, once at a real terminal and once in print mode. One without a case here fails."""

from pathlib import Path

import msgspec
import pytest

from robota.protocol.slash_commands import CommandSource
from scripts.reference.slash_commands import command_infos
from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

CHOICE = "press Enter to cancel."


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A line, what it shows in a conversation with one answer, and what `robota -p` prints for it in a new session.

    `is_choice` says that the conversation then waits for a number; `code` is the exit code of print mode.
    """

    line: str
    shows: str
    prints: str
    code: int = 0
    is_choice: bool = False


# In the order in which they are typed in one conversation: those that leave it come last.
CASES = {
    "help": Case(line="/help rename", shows="/rename NAME", prints="/rename NAME"),
    "history": Case(line="/history", shows="An answer.", prints="There is no task.", code=1),
    "mode": Case(line="/mode", shows="The mode is code.", prints="/mode architect", is_choice=True),
    "permissions": Case(line="/permissions plan", shows="permission mode: plan", prints="--permission-mode", code=1),
    "model": Case(line="/model", shows="The model is scripted of script", prints="/provider", is_choice=True),
    "keys": Case(line="/keys", shows="search previous prompts", prints="search previous prompts"),
    "effort": Case(
        line="/effort", shows="has no setting for how much it thinks", prints="has no setting for how much it thinks"
    ),
    "provider": Case(line="/provider", shows="The provider is script", prints="/provider script", is_choice=True),
    "output-style": Case(line="/output-style", shows="no output styles", prints="There are no output styles"),
    "cost": Case(line="/cost", shows="tokens in: 1,200", prints="tokens in: 0"),
    "copy": Case(line="/copy", shows="An answer.", prints="There is no answer yet.", code=1),
    "status": Case(line="/status", shows="permission mode: plan", prints="permission mode: default"),
    "todos": Case(line="/todos", shows="There is no todo list.", prints="There is no todo list."),
    "context": Case(line="/context", shows="system prompt", prints="There is no task.", code=1),
    "pin": Case(line="/pin 1", shows="Turn 1 is pinned.", prints="came as a prompt", code=1),
    "unpin": Case(line="/unpin 1", shows="Turn 1 may be condensed again.", prints="came as a prompt", code=1),
    "compact": Case(line="/compact preview", shows="is too short", prints="There is no task.", code=1),
    "rewind": Case(line="/rewind", shows="FILES CHANGED", prints="This session has no prompts."),
    "diff": Case(line="/diff", shows="Nothing was changed.", prints="Nothing was changed."),
    "rename": Case(line="/rename roof", shows="now called roof", prints="robota sessions rename", code=1),
    "export": Case(line="/export out.md", shows="out.md", prints="robota sessions export", code=1),
    "search": Case(line="/search stutter", shows="No other session", prints="No other session"),
    "add-dir": Case(line="/add-dir", shows="reads only in the workspace", prints="reads only in the workspace"),
    "background": Case(line="/background", shows="no background work", prints="no background work."),
    "agent": Case(line="/agent", shows="There are no agents.", prints="There are no agents."),
    "mcp": Case(line="/mcp", shows="No MCP server", prints="No MCP server is configured here."),
    "hooks": Case(line="/hooks", shows="There are no hooks", prints="There are no hooks here."),
    "agents": Case(line="/agents", shows="Explore", prints="Explore"),
    "skills": Case(line="/skills", shows="There are no skills", prints="There are no skills here."),
    "plugin": Case(line="/plugin", shows="No plugin is installed.", prints="/plugin marketplace", is_choice=True),
    "intents": Case(line="/intents", shows="There are no intents here", prints="There are no intents here", code=1),
    "memory": Case(line="/memory", shows="Memory is empty.", prints="Memory is empty."),
    "worktree": Case(line="/worktree", shows="no worktrees of sessions", prints="There are no worktrees of sessions"),
    "tool": Case(line="/tool", shows="read_file", prints="read_file"),
    "instructions": Case(line="/instructions", shows="no instruction files", prints="There are no instruction files"),
    "policy": Case(line="/policy explain -- nano x", shows="needs approval", prints="ask: Bash needs approval"),
    "config": Case(line="/config", shows="currentProvider", prints="currentProvider"),
    "trust": Case(line="/trust", shows="nothing to trust", prints="nothing to trust"),
    "doctor": Case(line="/doctor", shows="Everything Robota needs", prints="Everything Robota needs"),
    "sessions": Case(line="/sessions", shows="NAME OR FIRST PROMPT", prints="NAME OR FIRST PROMPT"),
    "state": Case(line="/state", shows="open in", prints="open in"),
    "why": Case(line="/why no.txt", shows="There is no file no.txt", prints="There is no file no.txt", code=1),
    "audit": Case(line="/audit", shows="All logs are intact.", prints="All logs are intact."),
    "report": Case(line="/report", shows="robota replay", prints="run: robota report", code=1),
    "trace": Case(line="/trace", shows="no agent has changed", prints="no agent has changed", code=1),
    "theme": Case(line="/theme none", shows="theme: none", prints="config set theme", code=1),
    "statusline": Case(line="/statusline off", shows="status line: off", prints="config set statusline", code=1),
    "retry": Case(line="/retry", shows="No request is waiting to be retried.", prints="There is no task.", code=1),
    "review": Case(line="/review", shows="An answer.", prints="An answer."),
    "init": Case(line="/init", shows="An answer.", prints="An answer."),
    "resume": Case(line="/resume", shows="There is no other session", prints="There is no other session"),
    "clear": Case(line="/clear", shows="starts a new conversation", prints="starts a new conversation", code=1),
    "fork": Case(line="/fork", shows="Nothing was copied.", prints="robota sessions fork", code=1),
    "language": Case(line="/language x9", shows="A language is required", prints="config set language", code=1),
    "inbox": Case(line="/inbox", shows="asks anything", prints="robota inbox"),
    "detach": Case(line="/detach", shows="", prints="robota --detach TASK"),
    "new": Case(line="/new", shows="", prints="To continue there: robota"),
    "exit": Case(line="/exit", shows="", prints=""),
}
# Tried elsewhere: the conversation goes on without its terminal.
LEAVES_THE_TERMINAL = "detach"
ANSWER = {"text": "An answer.", "usage": {"input": 1200, "output": 30, "cost": 0.5}}


def test_every_built_in_command_has_a_case(home: Path) -> None:
    built_in = {info.name for info in command_infos(home) if info.source is CommandSource.BUILT_IN}
    assert built_in == CASES.keys()


def test_all_built_in_commands_in_one_conversation(robota: Robota) -> None:
    script(robota, ANSWER, ANSWER, ANSWER)
    with Terminal(robota, "Why does it stutter?") as terminal:
        terminal.wait_for("An answer.")
        for case in (case for name, case in CASES.items() if name != LEAVES_THE_TERMINAL):
            terminal.answer("> ", case.line)
            terminal.wait_for(case.shows)
            if case.is_choice:
                terminal.wait_for(CHOICE)
                terminal.answer("> ", "")
        assert terminal.end() == 0


@pytest.mark.parametrize("name", CASES)
def test_all_built_in_commands_in_print_mode(robota: Robota, name: str) -> None:
    script(robota, ANSWER)
    case = CASES[name]
    done = robota("-p", case.line)
    assert done.code == case.code, done.stderr
    assert case.prints in (done.stdout if case.code == 0 else done.stderr)
