"""The prompts behind `/review` and `/init`."""

from typing import Final

from robota.protocol.slash_commands import typed_command

REVIEW: Final = """\
Review the changes in this working tree. Do not change any file.

- Find out with git what changed: the status, then unstaged and staged changes. If there are none, review the commits \
that this branch has and the main branch lacks.
- Read the code around each change, not only the lines of the diff.
- Report problems, the most serious first: wrong behaviour, lost data, security, races, unhandled failures, and tests \
that are missing or cannot fail.
- For each problem give `path:line`, what happens and when, and how to fix it. Leave out matters of taste.
- If nothing is wrong, say so and say what you looked at."""
INIT: Final = """\
Write AGENTS.md in the root of this project: what a coding agent must know to work here. If it exists, keep what it \
says, correct what is outdated, and add what is missing.

First look at the project:
- The README, the build, the commands for tests, linters and a single test, the directories, the configuration of \
tools, recent commits. Take commands only from files that name them. Run none that changes anything.
- Instructions for other agents: CLAUDE.md, GEMINI.md, .cursor/rules, .cursorrules, .clinerules, .windsurfrules, \
.github/copilot-instructions.md. Use what is still true, say which files you used, and do not change them.

Then write:
- What the project is, in two sentences.
- The commands, exactly as typed.
- How the parts fit together, where one file alone does not show it.
- Conventions that differ from common practice, and what must not be touched.

Leave out what is obvious from the files, and general advice. Invent nothing. At most 100 lines of plain Markdown."""
PROMPTS: Final = {"init": INIT, "review": REVIEW}


def built_in_prompt(line: str) -> str | None:
    """The prompt for a line such as `/review` with its arguments as emphasis; None for any other line."""
    typed = typed_command(line)
    prompt = None if typed is None else PROMPTS.get(typed.name)
    if typed is None or prompt is None:
        return None
    return f"{prompt}\n\nAbove all: {typed.arguments}" if typed.arguments else prompt
