"""Restore the terminal if this process is killed: a small shell process waits for the end of a pipe.

In every other case this process restores the terminal itself. Shells with a line editor restore it too, others do not:
without this, a `kill -9` leaves them with a terminal that does not echo and in which bracketed paste is on.
"""

import contextlib
import os
import termios
from collections.abc import Sequence
from subprocess import DEVNULL, TimeoutExpired
from typing import TYPE_CHECKING, Any, Final

from robota.workspace.outside_program import start_outside

if TYPE_CHECKING:
    from subprocess import Popen

INPUT_MODES: Final = 0
LOCAL_MODES: Final = 3
# The modes that are changed to read single keys, with their names in stty.
CHANGED_MODES: Final = (
    (INPUT_MODES, termios.ICRNL, "icrnl"),
    (INPUT_MODES, termios.IGNCR, "igncr"),
    (INPUT_MODES, termios.INLCR, "inlcr"),
    (INPUT_MODES, termios.IXOFF, "ixoff"),
    (INPUT_MODES, termios.IXON, "ixon"),
    (LOCAL_MODES, termios.ECHO, "echo"),
    (LOCAL_MODES, termios.ICANON, "icanon"),
    (LOCAL_MODES, termios.IEXTEN, "iexten"),
    (LOCAL_MODES, termios.ISIG, "isig"),
)
RELEASED: Final = b"released\n"
MAIN_SCREEN: Final = b"main\n"
ALTERNATE_SCREEN: Final = b"alternate\n"
# It ends at once after a release; on a busy machine it may take longer.
MAX_END_S: Final = 1.0
# Arguments: our process group, those of the enclosing shells, and the original modes, for stty.
#
# What no shell uses is reset at once. A shell with a line editor sets the modes and bracketed paste (2004) itself when
# it shows its prompt, so those are reset only if the modes are unchanged after a moment. Nothing is reset if another
# program has the terminal: one of another group in the foreground, or one that a script started in our own group.
#
# The PATH is fixed: an active virtual environment in the workspace is on the user's, and commands can write to it.
SCRIPT: Final = r"""
PATH=/usr/local/bin:/usr/bin:/bin
trap '' HUP INT QUIT TSTP TTIN TTOU
exec 2>/dev/null 3>&1
own=$1
shells=$2
shift 2

end_if_another_program_has_it() {
    if read -r line </proc/$$/stat; then
        set -- ${line##*) }
        foreground=$6
        started=${20}
    else
        foreground=$(ps -o tpgid= -p $$ | tr -d ' ')
    fi
    case " $own $shells " in *" $foreground "*) ;; *) exit ;; esac
    [ "$foreground" = "$own" ] || return
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        set -- ${line##*) }
        [ "$3" = "$own" ] && [ "${20}" -gt "$started" ] && exit
    done
}

use=main
modes=$(stty -g <&3)
while read -r line; do
    use=$line
    [ "$use" = released ] || modes=$(stty -g <&3)
done
[ "$use" = released ] && exit
end_if_another_program_has_it
[ "$use" = alternate ] && printf '\033[?1049l'
printf '\033[?2026l\033[?1004l\033[0m\033[0 q\033[?25h\033]2;\007\033[J'
sleep 0.3 || sleep 1
end_if_another_program_has_it
[ "$(stty -g <&3)" = "$modes" ] || exit
printf '\033[?2004l'
stty "$@" <&3
"""


class GuardProcess:
    """A shell that tracks whether we use the terminal, and restores it if we are killed while we do.

    Start it when the terminal is in use.
    """

    def __init__(self, terminal: int, modes: Sequence[Any]) -> None:
        """`modes` are the original modes of the terminal."""
        self._process: Popen[bytes] | None = None
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        words = (("" if modes[kind] & flag else "-") + name for kind, flag, name in CHANGED_MODES)
        try:
            self._process = start_outside(
                ["/bin/sh", "-c", SCRIPT, "terminal-guard", str(os.getpgrp()), _shells(), *words],
                stdin=reading,
                stdout=terminal,
                stderr=DEVNULL,
                workspace=None,
                cwd="/",
                env={},
                process_group=0,  # not reached by Ctrl+C and Ctrl+Z
            )
        except OSError:
            os.close(self._pipe)  # no process could be started: the terminal is not guarded
        finally:
            os.close(reading)

    def taken(self, *, is_alternate: bool) -> None:
        """Note that we use the terminal, or its alternate screen, from now on."""
        self._send(ALTERNATE_SCREEN if is_alternate else MAIN_SCREEN)

    def released(self) -> None:
        """Note that we have restored the terminal, for another program or because we are about to end."""
        self._send(RELEASED)

    def close(self) -> None:
        """End the shell. Call `released` first, or it restores the terminal again."""
        if self._process is None:
            return
        os.close(self._pipe)
        try:
            self._process.wait(MAX_END_S)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _send(self, line: bytes) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):  # it was killed
                os.write(self._pipe, line)


def _shells() -> str:
    """The process groups of the enclosing shells: of our parent process, and of the session leader."""
    groups = {os.getsid(0)}
    with contextlib.suppress(OSError):
        groups.add(os.getpgid(os.getppid()))
    return " ".join(map(str, groups))
