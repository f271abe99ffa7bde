"""What is piped in, from sources that behave and from those that do not."""

import io
import os
from collections.abc import Iterator

import pytest

from robota.cli.run.stdin import MAX_BYTES, StdinProblem, piped_input


@pytest.fixture
def pipe() -> Iterator[tuple[io.TextIOWrapper, int]]:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as reader:
        yield reader, write_end


def test_a_pipe_that_was_left_open_does_not_hang(pipe: tuple[io.TextIOWrapper, int]) -> None:
    reader, _ = pipe
    warnings: list[str] = []
    assert piped_input(reader, prompt_given=True, warn=warnings.append, timeout_s=0) == ""
    assert "continuing with the prompt alone" in warnings[0]


def test_bytes_that_are_no_text_are_replaced(pipe: tuple[io.TextIOWrapper, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"\xef\xbb\xbfgr\xfc\xdfe\n")
    os.close(writer)
    assert piped_input(reader, prompt_given=False, warn=print) == "gr\ufffd\ufffde"


def test_too_much_is_refused() -> None:
    import tempfile

    with tempfile.TemporaryFile("w+") as file:
        file.write("x" * (MAX_BYTES + 1))
        file.flush()
        file.seek(0)
        with pytest.raises(StdinProblem, match="larger than"):
            piped_input(file, prompt_given=True, warn=print)


def test_no_stdin_at_all_is_no_input() -> None:
    assert piped_input(None, prompt_given=False, warn=print) == ""
    closed = io.StringIO("no descriptor")
    assert piped_input(closed, prompt_given=False, warn=print) == ""
