"""What tests of calls need of the machine."""

from pathlib import Path

import pytest

from robota.workspace.sandbox.session_sandbox import SessionSandbox


@pytest.fixture
def bubblewrap(workspace: Path) -> None:
    """Skip the test where bubblewrap does not work."""
    sandbox = SessionSandbox(workspace, home=None)
    kind = sandbox.backend.kind
    sandbox.close()
    if kind != "bubblewrap":
        pytest.skip("no bubblewrap")
