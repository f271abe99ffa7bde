"""The prompts behind `/review` and `/init`."""

from typing import Final

from robota.protocol.slash_commands import typed_command

REVIEW: Final = """\
Review the changes in this working tree and do not change any file.

Find out with git what changed: the status, the unstaged and the staged changes; if there are none, the commits of \
this branch that its main branch does not have. Read the code around each change and not only the lines of the diff.

Report what is wrong, the worst first: errors in behaviour, lost data, security, races, missing handling of failures, \
tests that are missing or would not notice. For each say the file and line, what happens and when, and how to mend it. \
Leave out matters of taste. If nothing is wrong, say so and say what you looked at."""
INIT: Final = """\
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
PROMPTS: Final = {"init": INIT, "review": REVIEW}


def built_in_prompt(line: str) -> str | None:
    """The prompt for a line such as `/review` with its arguments as emphasis; None for any other line."""
    typed = typed_command(line)
    prompt = None if typed is None else PROMPTS.get(typed.name)
    if typed is None or prompt is None:
        return None
    return f"{prompt}\n\nAbove all: {typed.arguments}" if typed.arguments else prompt
