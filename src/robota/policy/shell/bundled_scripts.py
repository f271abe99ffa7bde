"""Commands that run a script of a skill or plugin: approved together with it, and run in the sandbox only."""

import re
from typing import TYPE_CHECKING, Final

import msgspec

from robota.policy.shell.command_part import CommandPart
from robota.policy.stages import PolicyContext
from robota.workspace.shell.wrappers import program

if TYPE_CHECKING:
    from robota.workspace.bundles import BundleMember

PYTHON: Final = re.compile(r"python(?:3(?:\.\d{1,2})?)?")
SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
# They run the file that is their first argument, and no other code of the directory they run in.
OTHER_INTERPRETERS: Final = frozenset({"node", "ruby", "perl"})
PYTHON_FLAGS: Final = frozenset({"-u", "-B", "-E", "-I", "-s"})
SHELL_FLAGS: Final = frozenset({"-e", "-u", "-x", "-eu", "-ex", "-eux"})


class BundledWord(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a command that names a file of a bundle."""

    word: str
    file: "BundleMember"


def bundled_script(part: CommandPart, context: PolicyContext) -> BundledWord | None:
    """The script of a bundle that the command runs; None if it runs anything else, or could.

    The name of the script must be a whole word, whatever directory the command runs in.
    """
    if not part.unwrapped.faithful or part.unwrapped.inner is None or not context.sandboxed or context.sandbox_missing:
        return None
    index = _script_index(part, context)
    if index is None or index + len(part.command.argv) - len(part.inner) in part.command.globs:
        return None
    script = bundled_word(part, part.inner[index], context)
    if script is None or (index == 0 and any(_is_of_workspace(word, context) for word in script.file.first_line)):
        return None
    return script


def _is_of_workspace(word: str, context: PolicyContext) -> bool:
    """Whether a word in the first line of a script names a program of the workspace, as `env python3` can."""
    if "/" not in word:
        return context.resolver.finds_in_workspace(word)
    return not word.startswith("/") or any(
        context.resolver.inside(path) is not None for path in (word, context.resolver.real(word))
    )


def bundled_word(part: CommandPart, word: str, context: PolicyContext) -> BundledWord | None:
    """The bundle that everything which the word could mean is in; one of the files that changed, if there are any."""
    bundles = [context.bundled(location) for _, location in part.locations((word,), context.resolver)]
    files = [file for file in bundles if file is not None]
    if not files or len(files) < len(bundles):
        return None
    return BundledWord(word=word, file=next((file for file in files if file.problem), files[0]))


def _script_index(part: CommandPart, context: PolicyContext) -> int | None:
    """Where in the command the program is that runs: the program itself, or the script that an interpreter gets."""
    words = part.inner
    if "/" in words[0]:
        return 0
    name = program(words)
    if PYTHON.fullmatch(name):
        flags = PYTHON_FLAGS
    elif name in SHELLS:
        flags = SHELL_FLAGS
    elif name in OTHER_INTERPRETERS:
        flags = frozenset()
    else:
        return None
    if context.resolver.finds_in_workspace(name):
        # An interpreter of a virtual environment loads its packages, which may have been edited.
        return None
    index = next((index for index, word in enumerate(words[1:], 1) if word not in flags), None)
    return None if index is None or words[index].startswith("-") else index
