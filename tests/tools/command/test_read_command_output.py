"""Looking into an output that was too long to show."""

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from robota.tools.command.read_command_output import TOOL, ReadCommandOutputParams
from robota.workspace.output.page import read_page
from tests.tools.workbench import Workbench


@pytest.fixture
def name(bench: Workbench) -> str:
    """A thousand lines of 11 bytes."""
    return bench.keep(b"".join(b"line %05d\n" % number for number in range(1, 1001)))


def test_a_long_output_can_be_read_by_the_name_that_was_given(bench: Workbench) -> None:
    told = bench.call("execute_command", command="seq 20000").content
    found = re.search(r'"artifact_id":"(\w+)"', told)
    assert found is not None
    content = bench.call("read_command_output", artifact_id=found[1], search="^12345$").content
    assert content.splitlines()[1:] == ["12345 (byte 62958) | 12345"]


def test_pages_follow_one_another(bench: Workbench, name: str) -> None:
    first = bench.call("read_command_output", artifact_id=name, limit=30).content
    assert first == (
        f"Output {name}: bytes 0-22 of 11,000.\n1 | line 00001\n2 | line 00002\n"
        f'[To read on: read_command_output {{"artifact_id":"{name}","offset":22,"limit":30}}]'
    )
    second = bench.call("read_command_output", artifact_id=name, offset=22, limit=30).content
    assert "3 | line 00003\n4 | line 00004\n" in second
    last = bench.call("read_command_output", artifact_id=name, offset=10_990, limit=80_000).content
    assert last.endswith("bytes 10,990-11,000 of 11,000.\nThe first line is the rest of a line.\n1000 | ine 01000")
    assert "all of its 11,000 bytes" in bench.call("read_command_output", artifact_id=name, limit=80_000).content


def test_search_shows_where_to_read_on(bench: Workbench, name: str) -> None:
    content = bench.call("read_command_output", artifact_id=name, search="LINE 0050[12]").content
    assert "2 lines match 'LINE 0050[12]'." in content
    assert "501 (byte 5500) | line 00501\n502 (byte 5511) | line 00502" in content
    few = bench.call("read_command_output", artifact_id=name, search="line", limit=100).content
    assert "1,000 lines match 'line'; showing 3." in few
    assert f'"{name}","search":"line","offset":23,"limit":100}}]' in few
    more = bench.call("read_command_output", artifact_id=name, search="line", offset=23, limit=100).content
    assert "\n4 (byte 33) | line 00004\n" in more
    assert (
        "no line matches 'nothing'. Try"
        in bench.call("read_command_output", artifact_id=name, search="nothing").content
    )


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?P<n>a)(?P<n>b)"])
def test_a_bad_pattern_is_an_error_and_not_no_results(bench: Workbench, name: str, pattern: str) -> None:
    with pytest.raises(ToolError, match="not a valid regular expression"):
        bench.call("read_command_output", artifact_id=name, search=pattern)


def test_a_pattern_that_never_ends_is_stopped(bench: Workbench) -> None:
    name = bench.keep(b"a" * 50 + b"!\n")
    with pytest.raises(ToolError, match="was stopped"):
        bench.call("read_command_output", artifact_id=name, search="(a+)+$")


def test_a_line_without_end_is_searched_in_pieces(bench: Workbench) -> None:
    name = bench.keep(b"x" * 1_000_000 + b"needle" + b"y" * 1_000_000 + b"\nneedle\n")
    content = bench.call("read_command_output", artifact_id=name, search="needle").content
    assert "2 lines match" in content
    assert "2 (byte 2000007) | needle" in content
    assert len(content) < 2000


def test_a_running_background_process_can_be_looked_into(bench: Workbench) -> None:
    async def scenario() -> str:
        process = bench.processes.start_background("seq 5; sleep 1000", bench.cwd)
        while not process.last_text.endswith("5\n"):
            await process.new_output(60)
        try:
            prepared = await TOOL.prepare(ReadCommandOutputParams(artifact_id=process.id, search="[24]"), bench)
            return (await prepared.run()).content
        finally:
            bench.processes.close()

    assert asyncio.run(scenario()).endswith("2 (byte 2) | 2\n4 (byte 6) | 4")


@pytest.mark.parametrize("name", ["../../etc/passwd", "bg7", "", "0" * 32])
def test_only_what_was_kept_can_be_read(bench: Workbench, name: str) -> None:
    with pytest.raises(ToolError, match="stored output"):
        bench.call("read_command_output", artifact_id=name)


def test_behind_the_end_there_is_nothing(bench: Workbench, name: str) -> None:
    with pytest.raises(ToolError, match="has 11,000 bytes; there is nothing at 99,999"):
        bench.call("read_command_output", artifact_id=name, offset=99_999)
    assert "is empty." in bench.call("read_command_output", artifact_id=bench.keep(b"")).content


@given(text=st.text(alphabet="aé€😀\n\r"), limit=st.integers(4, 50))
def test_pages_are_the_whole_and_cut_no_character(
    tmp_path_factory: pytest.TempPathFactory, text: str, limit: int
) -> None:
    path: Path = tmp_path_factory.mktemp("pages") / "output"
    path.write_bytes(text.encode())
    read, at = "", 0
    while at < len(text.encode()):
        page = read_page(path, at, limit)
        assert page.first_line == 1 + read.count("\n")
        assert page.begins_inside is (not read.endswith("\n") and bool(read))
        read, at = read + page.text, page.end
    assert read == text
