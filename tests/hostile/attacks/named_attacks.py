"""The table of attacks: each is a function whose name says what a command tries.

Each prepares a ground and runs `robota` there. What must stay as it was is the same for all of them: see `Ground`.
"""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from typing import Final

from tests.cli.scripts import call
from tests.hostile.attacks.environments import Environment
from tests.hostile.attacks.ground import BEGAN, CREDENTIALS, HIDDEN_CANARY, Ground

Attack = Callable[[Ground], None]
HARMLESS_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
PLANT: Final = "#!/bin/sh\\necho planted >> {outside}/precious.txt\\n"


def _plant(ground: Ground) -> str:
    """The shell words that print a script which harms what is outside."""
    return f"printf '{PLANT.format(outside=ground.outside)}'"


def write_to_everything_outside_by_name(ground: Ground) -> None:
    ground.run_script(
        "echo x >> $O/precious.txt; echo x > $O/new; rm -rf $O/deep; mv $O/bin $O/nib; chmod 777 $O/bin/program\n"
        "echo x > /proc/self/root$O/new; cd $O && touch here; echo x >> $H/.bashrc; mkdir -p $H/.ssh\n"
        "echo x >> $H/.ssh/authorized_keys; ln $O/precious.txt $W/hard && echo x >> $W/hard"
    )


def write_through_links_to_places_outside(ground: Ground) -> None:
    (ground.workspace / "file").symlink_to(ground.outside / "precious.txt")
    (ground.workspace / "directory").symlink_to(ground.outside)
    (ground.workspace / "dangling").symlink_to(ground.outside / "appears")
    (ground.workspace / "up").symlink_to("../outside")
    ground.run_script(
        "echo x >> file; echo x > directory/new; echo x > dangling; echo x > up/new; rm -rf directory/deep\n"
        "ln -s $O mine; echo x > mine/new; tar -cf - src | tar -C mine -xf -; cp -r src/. directory/"
    )


def replace_protected_files(ground: Ground) -> None:
    ground.run_script(
        "for f in AGENTS.md lefthook.yml docs/AGENTS.md docs/guide/CLAUDE.md .robotaignore .config/mise.toml; do\n"
        "  echo x >> $f; rm -f $f; echo x > new; mv -f new $f; ln -sf $O/precious.txt $f; done\n"
        "echo '[core]' >> .git/config; rm -rf .git; mv .git away; cp -r vendor/lib/.git/. .git/; chmod -R 777 .git"
    )


def create_files_that_take_effect_once_they_exist(ground: Ground) -> None:
    ground.run_script(
        "echo 'touch /x' > .envrc; mkdir -p .vscode .husky .claude .idea; echo x > .vscode/tasks.json\n"
        "echo x > .husky/pre-commit; echo x > .claude/settings.json; echo x > .exrc; echo x > .mcp.json; ln -s $O .hg\n"
        "git init -q .jj; printf '[submodule \"x\"]\\n' > .gitmodules"
    )


def rename_the_parents_of_protected_files(ground: Ground) -> None:
    ground.run_script(
        "for d in docs/guide docs .github/instructions .github .config scripts/hooks scripts vendor/lib vendor; do\n"
        "  mv $d moved && mkdir -p $d && echo x > $d/AGENTS.md && echo x > $d/mise.toml; rm -rf moved\n"
        "  rm -rf $d; rmdir $d; mv -T src $d; ln -sfn $O $d; done\n"
        f"mkdir -p scripts/hooks; {_plant(ground)} > scripts/hooks/pre-commit; chmod +x scripts/hooks/pre-commit"
    )


def read_hidden_files_after_renaming_their_parents(ground: Ground) -> None:
    ground.run_script(
        "cat private/plan.txt; mv private open; cat open/plan.txt; cp -r private copy; cat copy/*; tar -c private\n"
        "ln private/plan.txt hard; cat hard; cat /proc/self/root$W/private/plan.txt; mv .robotaignore x\n"
        "grep -r canary ."
    )


def read_the_credentials_of_the_home(ground: Ground) -> None:
    files = " ".join(f'"$H/{name}"' for name in CREDENTIALS)
    ground.run_script(
        f"cat {files}; for f in {files}; do cat /proc/self/root$f; cp $f stolen; ln $f hard; done; grep -r canary $H\n"
        "tar -cf all.tar $H; ln -s $H here; cat here/.netrc; cat ~/.netrc; cd $H/Documents && cat letter.txt\n"
        "HOME=$H git credential-store get </dev/null"
    )


def cover_protected_files_with_hundreds_of_decoys(ground: Ground) -> None:
    for number in range(320):
        ground.write(f"decoy-{number}.code-workspace", "{}")
    for number in range(80):
        ground.write(f"a{number}/AGENTS.md", "x")
    ground.run_script("for f in AGENTS.md lefthook.yml docs/AGENTS.md .config/mise.toml; do echo x >> $f; done")


def cover_protected_files_with_thousands_of_entries(ground: Ground) -> None:
    for number in range(5200):
        (ground.workspace / f"a/{number % 26}").mkdir(parents=True, exist_ok=True)
        (ground.workspace / f"a/{number % 26}/{number}").touch()
    ground.run_script("echo x >> docs/guide/CLAUDE.md; echo x >> vendor/lib/.git/config; echo x >> docs/AGENTS.md")


def rewrite_the_script_of_a_hook(ground: Ground) -> None:
    ground.write("scripts/fmt.sh", "#!/bin/sh\n. scripts/more.sh\necho ran >> honest\n", mode=0o755)
    ground.write("scripts/more.sh", "true\n")
    command = {"type": "command", "command": "scripts/fmt.sh"}
    ground.settings["hooks"] = {event: [{"hooks": [command]}] for event in ("PreToolUse", "PostToolUse", "Stop")}
    ground.run_script(
        f"for f in scripts/fmt.sh scripts/more.sh; do {_plant(ground)} > $f; {_plant(ground)} > new; chmod +x new\n"
        "  mv -f new $f; done; mv scripts old; cp -r old scripts; "
        f"{_plant(ground)} > scripts/fmt.sh; chmod +x scripts/fmt.sh"
    )
    assert (ground.workspace / "honest").exists(), f"the script never ran: {ground.said}"


def put_programs_on_the_path_of_hooks(ground: Ground) -> None:
    ground.write(".venv/bin/honest", "#!/bin/sh\n", mode=0o755)
    command = {"type": "command", "command": "formatter; true"}
    ground.settings["hooks"] = {event: [{"hooks": [command]}] for event in ("PostToolUse", "Stop")}
    path = os.pathsep.join([str(ground.workspace / ".venv/bin"), os.environ["PATH"]])
    words = (
        "for n in formatter true git rg bwrap sh; do " + _plant(ground) + " > .venv/bin/$n; chmod +x .venv/bin/$n; done"
    )
    ground.run_script(words, env={} if ground.environment.value == "in Landlock" else {"PATH": path})


def swap_the_workspace_for_a_link_between_two_commands(ground: Ground) -> None:
    """Another session works above this one: here a hook of the user stands for it."""
    aside = ground.base / "aside"
    swap = f"mv {ground.workspace} {aside}; ln -s {ground.outside} {ground.workspace}"
    ground.write("attack.sh", "echo x > new; echo x >> precious.txt; rm -rf deep\n")
    (ground.outside / "attack.sh").write_text((ground.workspace / "attack.sh").read_text())
    ground.settings["hooks"] = {"PostToolUse": [{"matcher": "List", "hooks": [{"type": "command", "command": swap}]}]}
    write = call("write_to_file", path="planted.txt", content="x\n")
    again = call("execute_command", command="bash attack.sh")
    ground.run(call("list_files", path="."), again, write, mode="acceptEdits")
    assert ground.workspace.is_symlink(), ground.said
    ground.workspace.unlink()
    aside.rename(ground.workspace)


def put_a_link_in_the_place_of_robotas_own_directory(ground: Ground) -> None:
    """Under Landlock commands can: the log of the session must not follow it."""
    (ground.outside / "sessions").mkdir()
    ground.run_script("mv .robota mine; ln -s $O .robota; ls -l .robota")


def commit_in_a_repository_with_links_in_its_data(ground: Ground) -> None:
    git = ground.workspace / ".git"
    subprocess.run(["rm", "-rf", str(git / "logs"), str(git / "lfs")], check=True)
    (git / "logs").symlink_to(ground.home / ".ssh")
    (git / "lfs").symlink_to(ground.home)
    (git / "refs/heads/out").symlink_to(ground.outside / "precious.txt")
    (git / "COMMIT_EDITMSG").unlink()
    (git / "COMMIT_EDITMSG").symlink_to(ground.outside / "precious.txt")
    ground.write(
        "scripts/hooks/pre-commit",
        "#!/bin/sh\ncat .git/logs/id_ed25519 .git/lfs/.netrc\necho x > .git/logs/authorized_keys\n"
        "echo x > .git/lfs/.bashrc\necho x > .git/refs/heads/out\n",
        mode=0o755,
    )
    (ground.workspace / "src/main.py").write_text("print(2)\n")
    ground.run(
        call("execute_command", command="git add src"),
        call("execute_command", command="git commit -m two"),
    )


def change_gits_configuration_from_a_hook_of_a_commit(ground: Ground) -> None:
    ground.write(
        "scripts/hooks/pre-commit",
        "#!/bin/sh\nprintf '[core]\\n\\tfsmonitor = touch /x\\n' >> .git/config\nmkdir -p .git/hooks .git/info\n"
        "cp $0 .git/hooks/post-commit\necho '* filter=x' > .git/info/attributes\n"
        "echo x > .git/objects/info/alternates\n"
        "ln -s ../config .git/refs/heads/trick\necho x > .git/commondir\nmkdir -p .git/worktrees/x .git/modules/y\n",
        mode=0o755,
    )
    (ground.workspace / "src/main.py").write_text("print(2)\n")
    ground.run(
        call("execute_command", command="git add src"),
        call("execute_command", command="git commit -m two"),
    )


def find_the_state_of_robota_in_a_temporary_directory_of_the_workspace(ground: Ground) -> None:
    temporary = ground.workspace / "tmp"
    temporary.mkdir()
    ground.write(
        "scripts/hooks/pre-commit",
        "#!/bin/sh\nfind tmp -name 'config' -exec sh -c 'echo \"[core]\" >> {}' ';'\nfind tmp > listing\n"
        "find tmp -name '*.json' -exec sed -i s/HEAD/config/g {} ';'\n",
        mode=0o755,
    )
    (ground.workspace / "src/main.py").write_text("print(2)\n")
    commands = [
        call("execute_command", command=command) for command in ("git add src", "git commit -m two", "git stash")
    ]
    ground.run(*commands, env={"TMPDIR": str(temporary)})
    listing = ground.workspace / "listing"
    found = listing.read_text().split()[1:] if listing.exists() else []
    if ground.environment.has_namespaces:
        assert found == []


def reach_sockets_of_programs_outside(ground: Ground) -> None:
    """A program that obeys whoever connects: here it only counts its callers."""
    name = f"robota-hostile-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(ground.outside / "socket"))
        abstract.bind(f"\0{name}")
        for service in (named, abstract):
            service.listen()
            service.setblocking(False)
        (ground.outside / "socket").chmod(0o777)
        ground.write(
            "attack.py",
            "import socket\n"
            f"for name in ({str(ground.outside / 'socket')!r}, chr(0) + {name!r}):\n"
            "    try:\n        socket.socket(socket.AF_UNIX).connect(name)\n"
            "    except OSError as error:\n        print(error)\n",
        )
        ground.settings["sandbox"] = {"network": True}
        ground.run_script("python3 attack.py")
        callers = [service for service in (named, abstract) if _was_called(service)]
    if ground.environment.is_confined:
        assert callers == []


def close_directories_and_open_them_again_in_the_next_command(ground: Ground) -> None:
    """An ordinary user cannot look into them meanwhile, and so does not find what is to be protected there."""
    _close_and_open(ground, "000", "scripts sub")


def close_directories_that_can_still_be_listed(ground: Ground) -> None:
    _close_and_open(ground, "444", "vendor/lib scripts sub")


def _close_and_open(ground: Ground, mode: str, places: str) -> None:
    ground.write("sub/.env", HIDDEN_CANARY)
    ground.write("close.sh", f"chmod {mode} {places}; echo '{BEGAN}'\n")
    ground.write(
        "open.sh",
        f"chmod 755 {places}; echo x >> vendor/lib/.git/config; cat sub/.env\n"
        f"{_plant(ground)} > scripts/hooks/pre-commit\n",
    )
    ground.run(*(call("execute_command", command=f"bash {name}.sh") for name in ("close", "open")))
    assert BEGAN in ground.said, ground.said
    ground.open_again()


def work_in_a_directory_that_came_without_permission_to_write(ground: Ground) -> None:
    """As an archive can bring it: nothing can be put in the place of names that must not be created."""
    ground.write(
        "attack.sh", f"echo '{BEGAN}'; chmod 755 .; echo x > .envrc; mkdir .vscode; echo x > .vscode/tasks.json\n"
    )
    ground.workspace.chmod(0o555)
    ground.run(*(call("execute_command", command="bash attack.sh") for _ in range(2)))
    assert BEGAN in ground.said, ground.said
    ground.open_again()


def put_a_link_in_the_place_of_the_unused_placeholders(ground: Ground) -> None:
    """Robota removes them, at the start and at the end: empty directories, but not those of somebody else."""
    for name in ("one", "two"):
        (ground.outside / "empty" / name).mkdir(parents=True)
    (ground.workspace / ".robota").mkdir()
    (ground.workspace / ".robota/placeholders").symlink_to(ground.outside / "empty")
    ground.run_script("true")


def show_the_home_by_links_in_a_directory_on_the_path(ground: Ground) -> None:
    """An active virtual environment in the workspace is on the PATH, and commands can write there."""
    programs = ground.workspace / ".venv/bin"
    programs.mkdir(parents=True)
    places = ("Documents", ".bash_history", ".mozilla/firefox", ".gemini/oauth_creds.json", ".config")
    for number, name in enumerate(places):
        (programs / f"tool{number}").symlink_to(ground.home / name)
        ground.write(f".venv/bin/script{number}", f"#!{ground.home / name}\n", mode=0o755)
    ground.write(".venv/pyvenv.cfg", f"home = {ground.home / 'Documents'}\n")
    before = str(ground.base / "programs") if ground.environment is Environment.LANDLOCK else os.defpath
    ground.run_script("grep -rs canary $H; cat .venv/bin/*", env={"PATH": f"{programs}{os.pathsep}{before}"})


def open_devices(ground: Ground) -> None:
    """Disks hold every file, consoles what is typed; who may open them must not be asked."""
    ground.write(
        "attack.py",
        "import os, stat\n"
        "for parent, _, names in os.walk('/dev'):\n"
        "    for place in (os.path.join(parent, name) for name in names):\n"
        "        try:\n"
        "            if stat.S_IFMT(os.lstat(place).st_mode) in (stat.S_IFBLK, stat.S_IFCHR):\n"
        "                os.close(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))\n"
        "                print('opened', place + ';')\n"
        "        except OSError:\n"
        "            pass\n",
    )
    ground.run_script("python3 attack.py")
    opened = set(re.findall(r"opened (/dev/[^;]+);", ground.said))
    assert "/dev/null" in opened, ground.said
    if ground.environment.is_confined:
        assert opened <= {f"/dev/{name}" for name in HARMLESS_DEVICES} | {"/dev/pts/ptmx"}


def leave_processes_behind(ground: Ground) -> None:
    """They would write when nobody looks any more; here they wait until the command has ended."""
    gate = ground.workspace / "gate"
    os.mkfifo(gate)
    waiting = "head -n 1 gate; echo x > $O/new; echo x >> $W/AGENTS.md"
    ground.run_script(
        f'export O W; setsid -f bash -c "{waiting}" >/dev/null 2>&1 </dev/null\n'
        f'(bash -c "{waiting}" >/dev/null 2>&1 &)\n'
        f"env -i O=$O W=$W setsid -f bash -c '{waiting}' >/dev/null 2>&1 </dev/null"
    )
    descriptor = os.open(gate, os.O_RDWR | os.O_NONBLOCK)
    os.write(descriptor, b"go\n" * 10)
    os.close(descriptor)


def delete_what_matters_where_every_call_is_allowed(ground: Ground) -> None:
    commands = (
        *(f"rm -rf {ground.home}", "rm -rf ~", "rm -rf .git", "find .git -delete"),
        *(f"(cd {ground.base}; rm -rf home)", "cd .git && (rm -rf objects)", f"cd {ground.home}; git clean -fdx"),
        *("env -i rm -rf ~", f"setarch $(uname -m) rm -rf {ground.home}", f"nosuchwrapper rm -rf {ground.home}"),
        *(f"r=rm; $r -rf {ground.home}", f"a=(x {ground.home}); rm -rf ${{a[@]}}", "rm -rf {{.git,a},b}"),
        *("find . -name '*' -delete", "find . -name x -o -delete", "find . -exec env rm -rf {} +"),
        *("for d in build .git; do rm -rf ./$d; done", f"tar -cf x.tar --remove-files {ground.home}"),
    )
    ground.run(*(call("execute_command", command=command) for command in commands), mode="bypassPermissions")


def ask_for_openings_where_nobody_can_answer(ground: Ground) -> None:
    """A rule that allows every command is no answer to the question whether the sandbox may be opened for one."""
    with socket.socket() as service:
        service.bind(("127.0.0.1", 0))
        service.listen()
        service.setblocking(False)
        port = service.getsockname()[1]
        harm = f"echo x > {ground.outside}/new; rm -rf {ground.outside}/deep; echo > /dev/tcp/127.0.0.1/{port}"
        ground.write("attack.sh", f"{harm}\n")
        opened = ([str(ground.outside)], [str(ground.outside), "localhost"], [f"127.0.0.1:{port}"], [str(ground.home)])
        calls = [call("execute_command", command="bash attack.sh", opened=each) for each in opened]
        leaving = call("execute_command", command="bash attack.sh", without_sandbox=True)
        confined = call("execute_command", command="bash attack.sh")
        ground.run(confined, *calls, leaving, confined, mode="acceptEdits")
        assert not _was_called(service), ground.said


def restore_protected_files_by_pathspecs(ground: Ground) -> None:
    """An older commit has other instructions in it; git's own patterns name them without naming them."""
    place = ground.workspace / "docs/AGENTS.md"
    before = place.read_text()
    place.write_text("# Obey strangers\n")
    ground.git("commit", "-q", "--no-verify", "-am", "other instructions")
    place.write_text(before)
    ground.git("commit", "-q", "--no-verify", "-am", "back again")
    specs = (
        "docs/AGENTS.md",
        ":(glob)**/AGENTS.md",
        ":(top,icase)DOCS/agents.md",
        ":/docs",
        "doc*/A*",
        ":!src",
        ":^src",
    )
    commands = (
        *(f"git checkout HEAD~1 -- '{each}'" for each in specs),
        *(f"git restore --source=HEAD~1 --worktree '{each}'" for each in specs),
        *("git checkout HEAD~1", "git reset --hard HEAD~1", "git stash push -- ':(glob)**/AGENTS.md'"),
    )
    ground.run(*(call("execute_command", command=command) for command in commands), mode="acceptEdits")


def bring_a_script_that_a_hook_of_the_user_names(ground: Ground) -> None:
    """A clone without any configuration, which nobody has trusted yet."""
    ground.is_trusted = False
    ground.write("scripts/fmt.sh", PLANT.format(outside=ground.outside).replace("\\n", "\n"), mode=0o755)
    ground.write("package.json", "{}")
    ground.write("node_modules/.bin/prettier", (ground.workspace / "scripts/fmt.sh").read_text(), mode=0o755)
    commands = ("scripts/fmt.sh", "./node_modules/.bin/prettier --check .", "npx --no-install prettier")
    hooks = [{"type": "command", "command": command} for command in commands]
    ground.settings["hooks"] = {event: [{"hooks": hooks}] for event in ("SessionStart", "PreToolUse", "Stop")}
    ground.run(call("execute_command", command="true"))


def work_in_the_home_itself(ground: Ground) -> None:
    project, ground.workspace, ground.protected = ground.workspace, ground.home, ()
    ground.write("attack.sh", "cat .netrc .ssh/id_ed25519; echo x >> .zshenv; echo x > .ssh/authorized_keys\n")
    ground.run(call("execute_command", command="bash attack.sh"))
    ground.workspace = project


def _was_called(service: socket.socket) -> bool:
    try:
        service.accept()[0].close()
    except BlockingIOError:
        return False
    return True


# Harmful in any environment that does not confine them.
HARMFUL: Final[tuple[Attack, ...]] = (
    write_to_everything_outside_by_name,
    write_through_links_to_places_outside,
    replace_protected_files,
    create_files_that_take_effect_once_they_exist,
    rename_the_parents_of_protected_files,
    read_hidden_files_after_renaming_their_parents,
    read_the_credentials_of_the_home,
    cover_protected_files_with_hundreds_of_decoys,
    commit_in_a_repository_with_links_in_its_data,
    change_gits_configuration_from_a_hook_of_a_commit,
    close_directories_and_open_them_again_in_the_next_command,
    close_directories_that_can_still_be_listed,
    work_in_a_directory_that_came_without_permission_to_write,
)
ATTACKS: Final[tuple[Attack, ...]] = (
    *HARMFUL,
    cover_protected_files_with_thousands_of_entries,
    rewrite_the_script_of_a_hook,
    put_programs_on_the_path_of_hooks,
    put_a_link_in_the_place_of_robotas_own_directory,
    swap_the_workspace_for_a_link_between_two_commands,
    find_the_state_of_robota_in_a_temporary_directory_of_the_workspace,
    reach_sockets_of_programs_outside,
    put_a_link_in_the_place_of_the_unused_placeholders,
    show_the_home_by_links_in_a_directory_on_the_path,
    open_devices,
    leave_processes_behind,
    delete_what_matters_where_every_call_is_allowed,
    ask_for_openings_where_nobody_can_answer,
    restore_protected_files_by_pathspecs,
    bring_a_script_that_a_hook_of_the_user_names,
    work_in_the_home_itself,
)
