"""A command must not make Robota read or change a file of the user in place of the command's own long output."""

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.programs import needs

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PRIVATE = f"private words {KEY}\n"
SWAP = "for f in tmp/robota-output-*; do [ -f $f ] && rm $f && ln -s $HOME/private.txt $f; done"


@needs("bwrap")
@pytest.mark.parametrize("way", ["foreground", "background"])
def test_long_output_cannot_be_swapped_for_a_link_where_temporary_files_are_in_the_workspace(
    robota: Robota, way: str
) -> None:
    """The output is stored without its secrets, in place: through a link, the user's file would lose them."""
    (robota.workspace / "tmp").mkdir()
    private = robota.home / "private.txt"
    private.write_text(PRIVATE)
    mode = private.stat().st_mode
    calls = {
        "foreground": [call("execute_command", command=f"seq 1 60000; {SWAP}")],
        "background": [
            call("background_process", action="start", command="seq 1 60000; exec sleep 1000"),
            call("read_command_output", artifact_id="bg1"),
            call("execute_command", command=SWAP),
            call("read_command_output", artifact_id="bg1"),
        ],
    }[way]
    script(robota, *({"calls": [each]} for each in calls), {"text": "done"})
    done = robota(
        *("-p", "go", "--permission-mode", "bypassPermissions", "--output-format", "stream-json"),
        env={"TMPDIR": str(robota.workspace / "tmp")},
    )
    assert done.code == 0, done.stderr
    assert done.stdout.count("tool_result") == len(calls)
    assert "private words" not in done.stdout
    assert (private.read_text(), private.stat().st_mode) == (PRIVATE, mode)
