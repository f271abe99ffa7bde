"""Programs that do whatever their words say."""

import re
from typing import Final

from robota.workspace.shell.script import Argv
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


def runs_anything(argv: Argv) -> bool:
    """Whether a rule for this program would be a rule for everything it can be told to do; `python3.11` is python."""
    name = program(argv)
    return not NAMES.isdisjoint({name, VERSION.sub("", name)})
