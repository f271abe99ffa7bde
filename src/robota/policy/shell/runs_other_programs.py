"""Programs and flags that run other programs, or write files: no rule that ends in `*` means them."""

import posixpath
import re
from typing import Final

from robota.workspace.shell.script import Argv, SimpleCommand
from robota.workspace.shell.wrappers import WRAPPERS, program

NAMES: Final = WRAPPERS.keys() | frozenset(
    """
    sh bash dash zsh fish ksh csh tcsh ash rbash python pypy node nodejs deno bun perl ruby php lua luajit tclsh wish
    osascript powershell pwsh irb ipython awk gawk mawk nawk Rscript R julia scala groovy jshell java swift ghci runghc
    erl elixir iex clojure tsx ts-node jrunscript m4 dc ed ex vi vim nvim emacs gdb lldb valgrind perf ltrace
    eval exec source find parallel entr watchexec nodemon make gmake bmake ninja cmake just task rake ant scons invoke
    ssh scp sftp rsync docker podman kubectl vagrant ansible ansible-playbook psql mysql sqlite3 mongosh redis-cli
    tmux screen script expect at batch crontab systemd-run systemctl start-stop-daemon su doas sudo pkexec runuser
    setpriv unshare nsenter bwrap firejail env rm rmdir shred dd mkfs chmod chown curl wget nc ncat socat telnet ftp
    kill pkill killall npx uvx pipx bunx pnpx corepack
    """.split()
)
VERSION: Final = re.compile(r"[0-9.]+$")
# Long flags may be cut short; of git's short ones see `_escapes_git`.
LONG: Final = {
    "git": "output ext-diff open-files-in-pager upload-pack receive-pack exec exec-path config-env extcmd",
    "rg": "pre hostname-bin search-zip",
    "sort": "output compress-program",
    "tar": "checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command rmt-command",
    "man": "html pager",
    "find": "",
    "tree": "",
    "go": "",
}
SHORT: Final = {
    "rg": r"-[a-zA-Z]*z[a-zA-Z]*",
    "sort": r"-[a-zA-Z]*o.*",
    "tar": r"-[a-zA-Z]*[IF].*",
    "tree": r"-[a-zA-Z]*[oR].*",
    "man": r"-[a-zA-Z]*[HP].*",
    "go": r"--?(?:exec|toolexec|vettool|overlay)(?:=.*)?",
    "find": r"-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)",
}
GIT_VALUED: Final = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"})


def runs_anything(argv: Argv) -> bool:
    """Whether a rule for this program would be a rule for everything it can be told to do; `python3.11` is python."""
    name = program(argv)
    return not NAMES.isdisjoint({name, VERSION.sub("", name)})


def escapes(command: SimpleCommand, argv: Argv) -> tuple[str, ...]:
    """The words that make the program do more than its name says, or that may become such a word."""
    name = program(argv)
    if name not in LONG:
        return ()
    skipped = len(command.argv) - len(argv)
    found = []
    for place, word in enumerate(argv[1:], start=1):
        if word == "--":
            break
        may_become_a_flag = skipped + place in command.globs and word[0] in "-*?["
        if may_become_a_flag or _escapes(name, word) or (name == "git" and _escapes_git(argv, place)):
            found.append(word)
    return tuple(found)


def git_directories(argv: Argv, directories: tuple[str, ...]) -> tuple[str, ...] | None:
    """Where git looks for a repository if it runs in one of the directories; None if it is told which one to take."""
    before = argv[1 : _git_subcommand(argv)]
    for word, value in zip(before, (*before[1:], ""), strict=False):
        if word.startswith(("--git-dir", "--work-tree", "--bare", "--namespace")):
            return None
        if word == "-C":
            directories = tuple(posixpath.normpath(posixpath.join(each, value)) for each in directories)
    return directories


def _escapes(name: str, word: str) -> bool:
    if name in SHORT and re.fullmatch(SHORT[name], word, re.DOTALL):
        return True
    flag = word[2:].partition("=")[0] if word.startswith("--") else ""
    return bool(flag) and any(long.startswith(flag) for long in LONG[name].split())


def _escapes_git(argv: Argv, place: int) -> bool:
    """What a short flag means depends on the sub-command; before that, `-c` sets anything."""
    subcommand = _git_subcommand(argv)
    word = argv[place]
    if place < subcommand:
        return word.startswith("-c")
    return (argv[subcommand] == "grep" and word.startswith("-O")) or (
        argv[subcommand] in {"rebase", "difftool"} and word.startswith("-x")
    )


def _git_subcommand(argv: Argv) -> int:
    """The place of the sub-command; behind the end if there is none."""
    place = 1
    while place < len(argv) and argv[place].startswith("-"):
        place += 2 if argv[place] in GIT_VALUED else 1
    return place
