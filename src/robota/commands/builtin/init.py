"""`/init`: the model writes the instruction file of the project."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, send_prompt
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, SlashCommandInfo

INFO: Final = SlashCommandInfo(
    name="init",
    argument_hint="[WORDS]",
    description="let the model write AGENTS.md, or improve it; words say what matters",
    needs_model=True,
)
PROMPT: Final = """\
Write AGENTS.md at the top of this project: what a coding agent has to know to work here. If it is there already, keep \
what it says, correct what is wrong by now, and add what is missing.

First look: the README, how the project is built, the commands for tests, linters and a single test, its directories, \
the configuration of its tools, the last commits. Take a command only from a file that says it; run none that changes \
anything. Look also for what other agents are told (CLAUDE.md, GEMINI.md, .cursor/rules, .cursorrules, .clinerules, \
.windsurfrules, .github/copilot-instructions.md): use what is still true in it, say which files these were, and do not \
change them.

Then write: what the project is in two sentences; the commands, exactly as they are typed; how the parts fit together, \
where that takes more than one file to see; conventions that differ from what everybody does; what must not be \
touched. Leave out what can be seen in a moment (lists of every file, what a language is) and all advice that holds \
everywhere. Invent nothing. At most 100 lines, plain Markdown."""


def init_commands(session: Session) -> Iterable[SlashCommand]:
    """`/init`. What the model writes is asked about like any other change."""

    async def init(arguments: str) -> CommandOutcome | Refused:
        prompt = f"{PROMPT}\n\nAbove all: {arguments}" if arguments else PROMPT
        return await send_prompt(session, prompt, f"/init {arguments}".strip())

    yield SlashCommand(info=INFO, run=init)
