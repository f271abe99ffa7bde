"""`robota demo`: run a real task with the built-in scripted model in a project created for it. No key, no network.

At a terminal the user answers; elsewhere it runs without questions and prints what happens.
"""

import asyncio
import json
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.app.session import OpenSession, open_session
from robota.cli.questions import at_terminal
from robota.cli.run.conversation import can_draw, converse_here
from robota.cli.verb_command import run_family
from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions
from robota.commands.families import rewinding, sessions
from robota.commands.verb import Answer, Family, ProgramVerb, WrongArguments, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Positional
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.outside_program import find_program
from robota.workspace.process.processes import LocalProcesses

MATERIAL: Final = Path(__file__).parent / "demo_project"
TASK: Final = "There is a failing test in this project. Find out why and fix it."
MAKE_REPOSITORY: Final = (
    "git init -q && git add -A && git -c user.name=demo -c user.email=demo@localhost -c commit.gpgsign=false "
    "commit -qm 'A small shop'"
)
BEYOND_THE_SCRIPT: Final = (
    "I am a script, not a model: I know only this one task, and only if you approve its steps. Everything else "
    "here is real: `/rewind` undoes the fix, `/diff` shows it, `/context` shows what a model would be sent, `?` "
    "shows the keys. To work with a model, exit with Ctrl+D and run `robota --configure`."
)

NEXT: Final = """\
How to use it with a model of your own:

  robota --configure      # asks a few questions; or, without questions:
  robota --configure-provider mine --type openai-compatible \\
      --base-url http://127.0.0.1:11434/v1 --model YOUR_MODEL --set-current
  cd your/project
  robota "explain what this project does"      # with -p it only prints the answer, and asks nothing

Any server with an OpenAI-compatible API works; --api-key-env NAME names the variable that holds a key.
"""


class Directory(msgspec.Struct, frozen=True):
    """Where the project is."""

    directory: Annotated[str | None, Positional("DIR", "create the project here and keep it, with its session")] = None


def run_demo(host: VerbHost, args: Directory) -> Answer:
    """Run it in the directory, or without a trace."""
    if args.directory is None:
        return ended(run_without_a_trace())
    directory = Path(args.directory)
    if directory.exists() and any(directory.iterdir()):
        raise WrongArguments(f"{directory} is not empty, so nothing was written. Choose a new directory.")
    directory.mkdir(parents=True, exist_ok=True)
    code = _run(directory.absolute())
    print(f"\nThe project is in {directory}. To look at what happened: cd {shlex.quote(str(directory))}")
    return ended(code)


def run_without_a_trace() -> int:
    """Run it in a temporary directory with a separate user directory, and show that its changes can be undone."""
    directory = Path(tempfile.mkdtemp(prefix="robota-demo-"))
    project = directory / "shop"
    project.mkdir()
    # For the whole process, so that the log is verified with the directory where its head was recorded.
    os.environ["ROBOTA_HOME"] = str(directory / "home")
    try:
        code = _run(project)
        if not _is_attended():
            _take_back_and_redo(project)
        print(f"\n{NEXT}{_how_to_find_the_command()}", end="")
        return code
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(project: Path) -> int:
    return asyncio.run(_attended_demo(project) if _is_attended() else _demo(project))


def _is_attended() -> bool:
    return at_terminal() and can_draw(os.environ)


async def _attended_demo(project: Path) -> int:
    """The same task in the terminal UI, where the user approves the commands and the change."""
    await _make_project(project)
    print("A small project with a failing test, and Robota on its built-in scripted model.")
    print("Answer with y. Then: Ctrl+O shows everything, Esc Esc rewinds, Ctrl+D exits.\n")
    launch = _launch_options(project, otherwise={"text": BEYOND_THE_SCRIPT, "chunkDelayMs": 20})
    launch = msgspec.structs.replace(launch, permission_mode=PermissionMode.DEFAULT, attended=True)
    opened = open_session(launch, os.environ)
    try:
        ended = await converse_here(opened, TASK, plain=False, can_be_resumed=False)
    finally:
        await opened.close()
    return ended if isinstance(ended, int) else 0


async def _make_project(project: Path) -> None:
    for file in MATERIAL.glob("*.py.txt"):
        (project / file.name.removesuffix(".txt")).write_bytes(file.read_bytes())
    (project / ".gitignore").write_bytes((MATERIAL / "gitignore.txt").read_bytes())
    await _shell(MAKE_REPOSITORY, project)


async def _demo(project: Path) -> int:
    await _make_project(project)
    print("A small project with a failing test, and Robota on its built-in scripted model.")
    print("The model's words come from a script; the tools, the files and the tests are real.\n")
    print(f'$ robota -p "{TASK}" --permission-mode bypassPermissions --verbose\n', flush=True)
    opened = open_session(_launch_options(project), os.environ)
    try:
        code = await run_headless(
            opened.session, TASK, HeadlessOptions(verbose=True, quiet=True), sys.stdout.buffer, sys.stdout
        )
    finally:
        await opened.close()
    await _show_what_happened(project, opened)
    return code


def _launch_options(project: Path, **options: object) -> LaunchOptions:
    """The launch options of the demo; `options` are additional options of the scripted model."""
    script = (MATERIAL / "script.json").read_text(encoding="utf-8")
    if find_program("python3", os.environ, not_beneath=None) is None:
        script = script.replace("python3", shlex.quote(sys.executable))
    profile = Profile(type="scripted", name="demo", model="scripted", options={**json.loads(script), **options})
    return LaunchOptions(
        cwd=project, profile=profile, permission_mode=PermissionMode.BYPASS, attended=False, name="demo"
    )


async def _show_what_happened(project: Path, opened: OpenSession) -> None:
    print("\n$ git diff --stat")
    print(await _shell("git --no-pager diff --stat", project))
    session = opened.log.path.parent.name
    print(f"\n$ robota sessions verify {session}", flush=True)
    run_family(sessions.FAMILY, ["verify", session, "--cwd", str(project)])


def _take_back_and_redo(project: Path) -> None:
    """Show that the fix can be undone and redone."""
    for words in (("list",), ("restore", "1", "--yes"), ("redo", "--yes")):
        print(f"\n$ robota rewind {' '.join(words)}", flush=True)
        run_family(rewinding.FAMILY, [*words, "--cwd", str(project)])
        if words != ("list",):
            print("\n$ git diff --stat")
            print(asyncio.run(_shell("git --no-pager diff --stat", project)) or "(no differences)")


def _how_to_find_the_command() -> str:
    """The path hint after `make run`, when the command is installed but not on the PATH."""
    command = Path(sys.argv[0]).absolute()
    if find_program("robota", os.environ, not_beneath=None) is not None or command.name != "robota":
        return ""
    return f'Your shell does not find robota yet: export PATH="{command.parent}:$PATH"\n'


async def _shell(command: str, cwd: Path) -> str:
    processes = LocalProcesses()
    outcome = await processes.run(command, cwd, 30, lambda text: None)
    if outcome.exit_code != 0:
        print(f"robota: {command!r} failed; continuing without it.\n{outcome.output_head}", file=sys.stderr)
    return outcome.output_head.rstrip("\n")


FAMILY: Final = Family(
    name="demo",
    about="Run a real task on the built-in scripted model, in a sample project. No key, no network.",
    main=ProgramVerb("demo", "", Directory, run_demo),
)
