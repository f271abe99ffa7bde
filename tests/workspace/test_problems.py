"""Errors that come from what the machine lacks are told from errors of the program."""

import errno
import os

import pytest

from robota.workspace.problems import shortage_behind


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("can't start new thread"), "processes or threads"),
        (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "processes or threads"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "open files"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "disk"),
        (MemoryError(), "memory"),
        (ExceptionGroup("of a task group", [ValueError("other"), MemoryError()]), "memory"),
    ],
)
def test_a_shortage_is_named_with_what_to_do(error: BaseException, words: str) -> None:
    said = shortage_behind(error)
    assert said is not None and words in said and "try again" in said


@pytest.mark.parametrize(
    "error", [RuntimeError("loop is closed"), OSError("no number"), FileNotFoundError(2, "x"), KeyError("x")]
)
def test_any_other_error_is_no_shortage(error: BaseException) -> None:
    assert shortage_behind(error) is None
