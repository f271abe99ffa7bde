"""A machine that lacks something is named as the cause, with what to do; it is no bug of Robota."""

import os

import pytest

from tests.cli.scripts import script
from tests.harness.cli import EXECUTABLE, Finished, Robota, clean_environment, run
from tests.harness.programs import needs

# The limit of processes does not apply to root, so the test becomes a user without any process, who may read all files.
CAPABILITIES = "+dac_override,+dac_read_search"
AS_ANOTHER_USER = (
    "setpriv",
    "--reuid=54321",
    "--clear-groups",
    f"--inh-caps={CAPABILITIES}",
    f"--ambient-caps={CAPABILITIES}",
)


def without_processes(robota: Robota, *arguments: str) -> Finished:
    limited = ("bash", "-c", 'ulimit -u 1; exec "$@"', "limited", str(EXECUTABLE), *arguments)
    user = AS_ANOTHER_USER if os.geteuid() == 0 else ()
    return run([*user, *limited], robota.workspace, clean_environment(robota.home), "")


@needs("setpriv", "bash")
@pytest.mark.parametrize("output", ["text", "json"])
def test_where_no_process_can_be_started_the_limit_is_named_with_what_to_do(robota: Robota, output: str) -> None:
    script(robota, {"text": "hello"})
    if os.geteuid() == 0 and run([*AS_ANOTHER_USER, "true"], robota.workspace, os.environ, "").code != 0:
        pytest.skip("root cannot become another user here")
    done = without_processes(robota, "-p", "hello", "--output-format", output)
    said = done.stdout + done.stderr
    assert done.code == 1, said
    assert "The machine allows no more processes or threads." in said and "ulimit -u" in said
    assert "bug" not in said and "Traceback" not in said
