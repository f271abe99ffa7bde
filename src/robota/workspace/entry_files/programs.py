"""Programs that run what a file of the project says, and how they find that file. This is data.

An option that is not listed here may name another file or another directory, so no rule depends on what it means.
"""

import re
from typing import Final

import msgspec


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """How a program is told which script to run.

    `flags` are options that do not matter here, `valued` those whose next word is their value, and after one of
    `inline` the next word is the code. `needs_no_script`: with this option it finds its files itself.
    """

    flags: str = "(?!)"
    valued: frozenset[str] = frozenset()
    inline: str = "(?!)"
    needs_no_script: str = ""


_SHELL: Final = Interpreter(flags=r"[-+][euxv]+", valued=frozenset({"-o"}))
_PYTHON: Final = Interpreter(flags="-[uBOIsSEqvbPd]+", valued=frozenset({"-W", "-X"}), inline="-[uBOIsSEqvbPd]*c")
_NODE: Final = Interpreter(
    flags="--test|--no-warnings|--enable-source-maps|--experimental-strip-types",
    inline="-e|--eval|-p|--print|-pe",
    needs_no_script="--test",
)
INTERPRETERS: Final[dict[str, Interpreter]] = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), _SHELL),
    **dict.fromkeys(("python", "pypy"), _PYTHON),
    **dict.fromkeys(("node", "nodejs"), _NODE),
    "ruby": Interpreter(flags="-w", inline="-e"),
    "perl": Interpreter(flags="-[wT]+", inline="-[a-z0-9]*e"),
    "php": Interpreter(inline="-r"),
    "Rscript": Interpreter(flags="--vanilla", inline="-e"),
    **dict.fromkeys(("lua", "luajit", "julia"), Interpreter(inline="-e")),
    **dict.fromkeys(("tclsh", "tsx", "ts-node"), Interpreter()),
}
VERSION: Final = re.compile(r"[0-9.]+$")
# Python loads these by itself, if they are there.
CUSTOMIZING_MODULES: Final = frozenset({"sitecustomize", "usercustomize"})
MODULE_SUFFIXES: Final = (".py", ".pyc", ".so")

MAKE: Final = frozenset({"make", "gmake", "bmake"})
MAKE_FLAGS: Final = (
    r"-[kBsnwiS]+|-j[0-9]*|-O[a-z]*|--(?:keep-going|always-make|silent|quiet|dry-run|just-print|no-print-directory"
    r"|print-directory|ignore-errors|jobs(?:=[0-9]*)?|output-sync(?:=[a-z]*)?)"
)
MAKE_DIRECTORY: Final = frozenset({"-C", "--directory"})
MAKE_FILE: Final = frozenset({"-f", "--file", "--makefile"})


class TaskFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a program looks for in its directory and above, and its options with a harmless value.

    `beside` are files that it loads as well, if they are in the same directory.
    """

    files: tuple[str, ...]
    beside: tuple[str, ...] = ()
    valued: frozenset[str] = frozenset()


_YAML: Final = (".yml", ".yaml")
_DISTRIBUTED: Final = (".dist.yml", ".dist.yaml")
_INVOKE: Final = ("invoke.yaml", "invoke.yml", "invoke.json", "invoke.py")
TASK_RUNNERS: Final[dict[str, TaskFiles]] = {
    **dict.fromkeys(("make", "gmake"), TaskFiles(files=("GNUmakefile", "makefile", "Makefile"))),
    "bmake": TaskFiles(files=("BSDmakefile", "makefile", "Makefile")),
    "ninja": TaskFiles(files=("build.ninja",)),
    "just": TaskFiles(files=("justfile", "Justfile", ".justfile")),
    "task": TaskFiles(
        files=tuple(f"{name}{kind}" for name in ("Taskfile", "taskfile") for kind in (*_YAML, *_DISTRIBUTED))
    ),
    "rake": TaskFiles(files=("rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb")),
    **dict.fromkeys(("invoke", "inv"), TaskFiles(files=("tasks.py", "tasks/__init__.py"), beside=_INVOKE)),
    "nox": TaskFiles(files=("noxfile.py",), valued=frozenset({"-s", "--session"})),
    "tox": TaskFiles(
        files=("tox.ini", "tox.toml", "pyproject.toml", "setup.cfg"),
        beside=("toxfile.py",),
        valued=frozenset({"-e"}),
    ),
    "ant": TaskFiles(files=("build.xml",)),
    "scons": TaskFiles(files=("SConstruct", "Sconstruct", "sconstruct")),
}
QUIET: Final = frozenset({"-s", "--silent", "-q", "--quiet", "-v", "--verbose"})

PACKAGE_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
RUN: Final = frozenset({"run", "run-script", "rum", "urn"})
SHORT_NAMES: Final = {"t": "test", "tst": "test"}
# Scripts with these names need no `run` before them.
SHORT_SCRIPTS: Final = frozenset({"test", "start", "stop", "restart", *SHORT_NAMES})
# They can say which shell runs a script, or which program the package manager is.
PACKAGE_SETTINGS: Final = (".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", "bunfig.toml")

# They run the command that follows, in the environment of the project.
PROJECT_RUNNERS: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("uv", "run"): ("pyproject.toml", "uv.toml", ".python-version"),
    ("poetry", "run"): ("pyproject.toml", "poetry.toml"),
    ("pdm", "run"): ("pyproject.toml",),
    ("hatch", "run"): ("pyproject.toml", "hatch.toml"),
    ("rye", "run"): ("pyproject.toml",),
    ("pipenv", "run"): ("Pipfile",),
    ("bundle", "exec"): ("Gemfile", ".bundle/config"),
    ("npx",): (".npmrc",),
    ("bunx",): (".npmrc", "bunfig.toml"),
    ("pnpm", "exec"): (".npmrc",),
    ("yarn", "exec"): (".yarnrc", ".yarnrc.yml"),
    ("npm", "exec"): (".npmrc",),
    ("uvx",): (),
    ("pipx", "run"): (),
}
RUNNER_FLAGS: Final = frozenset(
    {"-q", "--quiet", "-y", "--yes", "--no-install", "--frozen", "--locked", "--offline", "--no-sync", "--"}
)
NODE_PROGRAMS: Final = "node_modules/.bin"
PYTHON_PROGRAMS: Final = ".venv/bin"
PYTHON_ENVIRONMENT: Final = ".venv/pyvenv.cfg"
