"""Programs and flags that run other programs or write files; a rule that ends in `*` never covers them."""

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
# Flags that make a program run another one, read its settings from elsewhere, or write a file. Long flags may be
# abbreviated; for git's short flags see `GIT_SHORT`.
LONG: Final = {
    "git": "output output-directory ext-diff open-files-in-pager upload-pack receive-pack exec exec-path config-env "
    "extcmd config template build-fake-ancestor remerge-diff diff-merges lost-found show-signature textconv filters",
    "rg": "pre hostname-bin search-zip",
    "sort": "output compress-program",
    "shuf": "output",
    "sdiff": "output diff-program",
    "tar": "checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command rmt-command "
    "index-file",
    "zip": "unzip-command",
    "man": "html pager",
    "rsync": "rsh rsync-path",
    "curl": "config output output-dir remote-name upload-file",
    "wget": "execute config output-document output-file directory-prefix use-askpass",
    "cargo": "config manifest-path target-dir artifact-dir out-dir",
    "npm": "script-shell shell node-options userconfig globalconfig prefix git editor viewer init-module",
    "pnpm": "script-shell shell node-options dir config",
    "yarn": "script-shell use-yarnrc cwd modules-folder",
    "gradle": "init-script build-file settings-file include-build project-dir",
    "mvn": "file settings global-settings toolchains",
    "pip": "python log report",
    "eslint": "config rulesdir resolve-plugins-relative-to plugin parser output-file format",
    "prettier": "config plugin",
    "ruff": "config output-file",
    "mypy": "python-executable config-file custom-typeshed-dir",
    "black": "config",
    "pylint": "init-hook load-plugins rcfile output",
    "flake8": "config append-config output-file",
    "rubocop": "require config out",
    "gh": "web",
    "javac": "processor-path processor-module-path",
    "clang": "ld-path config",
}
# Replacement programs, plug-ins, and search paths for both; `@file` contains more arguments.
_COMPILERS: Final = r"@.*|-(?:wrapper|fplugin.*|specs.*|B.*|Xclang|load|ld-path.*|fuse-ld.*)"
SHORT: Final = {
    "rg": r"-[a-zA-Z]*z[a-zA-Z]*",
    "sort": r"-[a-zA-Z]*o.*",
    "shuf": r"-[a-zA-Z]*o.*",
    "sdiff": r"-[a-zA-Z]*o.*",
    "tar": r"-[a-zA-Z]*[IF].*",
    "tree": r"-[a-zA-Z]*[oR].*",
    "zip": r"-[a-zA-Z]*TT.*",
    "man": r"-[a-zA-Z]*[HP].*",
    "ssh": r"-[a-zA-Z0-9]*[oF].*",
    "rsync": r"-[a-zA-Z]*e.*",
    "curl": r"-[a-zA-Z#]*[oOKT].*",
    "wget": r"-[a-zA-Z]*[OoeP].*",
    "cargo": r"-[CZ].*",
    "npm": r"-C.*",
    "pnpm": r"-C.*",
    "gradle": r"-[Ibcp].*",
    "mvn": r"-(?:f|s|gs|gt|t)(?:=.*)?",
    "go": r"--?(?:exec|toolexec|vettool|overlay|modfile|pkgdir|o|C)(?:=.*)?",
    "eslint": r"-[a-zA-Z]*[cofp].*",
    "ruff": r"-o.*",
    "gcc": _COMPILERS,
    "g++": _COMPILERS,
    "cc": _COMPILERS,
    "clang": _COMPILERS,
    "clang++": _COMPILERS,
    "rustc": r"@.*|-[CZ].*",
    "javac": r"@.*|-(?:processorpath|processor|J.*)",
    "mypy": r"@.*",
    "gh": r"-[a-zA-Z]*w.*",
    "find": r"-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)",
}
# tar also accepts letters without a dash in its first argument.
TAR_WITHOUT_DASH: Final = re.compile(r"[a-zA-Z]*[IF][a-zA-Z]*")
GIT_SHORT: Final = {
    "grep": r"-[a-zA-Z]*O.*",
    "rebase": r"-[a-zA-Z]*x.*",
    "difftool": r"-[a-zA-Z]*x.*",
    "clone": r"-[a-zA-Z]*[uc].*",
    "archive": r"-[a-zA-Z]*o.*",
    "format-patch": r"-[a-zA-Z]*o.*",
    "commit": r"-[a-zA-Z]*t.*",
}
# Programs for which `--` does not end the flags.
DASHES_END_NOTHING: Final = frozenset({"find"})
GIT_VALUED: Final = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"})


def runs_anything(argv: Argv) -> bool:
    """Whether a rule for this program would allow anything at all; `python3.11` is treated as python."""
    name = program(argv)
    return not NAMES.isdisjoint({name, VERSION.sub("", name)})


def escapes(command: SimpleCommand, argv: Argv) -> tuple[str, ...]:
    """The words that make the program do more than its name says, or that may expand to such a word."""
    name = program(argv)
    if name not in LONG and name not in SHORT:
        return ()
    skipped = len(command.argv) - len(argv)
    subcommand = _git_subcommand(argv) if name == "git" else 0
    names = []
    for index, word in enumerate(argv[1:], start=1):
        if word == "--" and name not in DASHES_END_NOTHING:
            break
        may_become_a_flag = skipped + index in command.globs and word[0] in "-*?["
        if may_become_a_flag or _escapes(name, word) or _escapes_by_position(name, argv, index, subcommand):
            names.append(word)
    return tuple(names)


def git_directories(argv: Argv, directories: tuple[str, ...]) -> tuple[str, ...] | None:
    """Where git looks for a repository when run in these directories; None if an argument names the repository."""
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
    return bool(flag) and any(long.startswith(flag) for long in LONG.get(name, "").split())


def _escapes_by_position(name: str, argv: Argv, index: int, subcommand: int) -> bool:
    """The meaning of git's short flags depends on the sub-command; before it, `-c` sets any option."""
    word = argv[index]
    if name == "tar":
        return index == 1 and TAR_WITHOUT_DASH.fullmatch(word) is not None
    if name != "git":
        return False
    if index < subcommand:
        return word.startswith("-c")
    return re.fullmatch(GIT_SHORT.get(argv[subcommand], "(?!)"), word, re.DOTALL) is not None


def _git_subcommand(argv: Argv) -> int:
    """The index of the sub-command; past the end if there is none."""
    index = 1
    while index < len(argv) and argv[index].startswith("-"):
        index += 2 if argv[index] in GIT_VALUED else 1
    return index
