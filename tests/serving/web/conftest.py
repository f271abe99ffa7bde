"""One browser for the tests of a module; each test has a profile of its own in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.harness.browser import CHROMIUM, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# Not for the whole process: while Playwright is open, no other test can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    with chromium() as started:
        yield started
