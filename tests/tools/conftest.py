"""Tools under test work in a directory of their own."""

from pathlib import Path

import pytest

from tests.tools.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)
