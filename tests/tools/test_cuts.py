"""Every cut is honest: a result shows what it says, and the call that it names returns the rest."""

import asyncio
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.contracts.tool import RESULT_CHARACTERS, ToolResult
from robota.tools.web.web_fetch import first_part
from tests.tools.workbench import Workbench

NAMED_CALL = re.compile(r"(?:read on|the rest|read them|next \w+): (\w+) (\{.*\})\]$", re.MULTILINE)
NUMBERED = re.compile(r"^ *\d+ \| (.*)$", re.MULTILINE)
NUMBERED_WHOLE = re.compile(r"^ *(\d+) \| (.*)$", re.MULTILINE)
LONG_ID = re.compile(r"\b[0-9a-f]{13,}\b")


def results(bench: Workbench, tool: str, **arguments: Any) -> list[str]:
    """The results of a call and of all those that lead to its rest."""
    found = [bench.call(tool, **arguments).content]
    while named := NAMED_CALL.findall(found[-1]):
        [(tool, json_arguments)] = named
        found.append(bench.call(tool, **json.loads(json_arguments)).content)
    assert not any(LONG_ID.search(each) or len(each) > RESULT_CHARACTERS for each in found)
    return found


def paths_in(content: str) -> list[str]:
    return [line for line in content.split("\n") if line and not line.startswith("[")]


def claimed(content: str, what: str) -> range | None:
    """The numbers of what a result says that it shows."""
    found = re.search(rf"Showing {what} ([\d,]+)-([\d,]+)", content)
    return None if found is None else range(int(found[1].replace(",", "")), int(found[2].replace(",", "")) + 1)


@pytest.mark.parametrize(("tool", "what"), [("glob", "files"), ("list_files", "entries")])
@pytest.mark.parametrize("count", [1, 200, 201, 300, 301, 650])
def test_pages_of_paths_are_all_of_them(bench: Workbench, tmp_path: Path, tool: str, what: str, count: int) -> None:
    for number in range(count):
        path = tmp_path / f"{number % 7}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    arguments = {"pattern": "**/*.txt"} if tool == "glob" else {"recursive": True}
    pages = results(bench, tool, **arguments)
    for page in pages:
        numbers = claimed(page, what)
        assert len(pages) == 1 if numbers is None else len(numbers) == len(paths_in(page))
    listed = [path for page in pages for path in paths_in(page) if not path.endswith("/")]
    assert sorted(listed) == sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.txt"))


def output_in(pages: list[str]) -> str:
    """What pages of a stored output say together."""
    joined = ""
    for page in pages:
        lines = "\n".join(NUMBERED.findall(page))
        joined += lines if "rest of a line" in page or not joined else f"\n{lines}"
    return joined


@settings(max_examples=12)
@given(
    lines=st.lists(st.tuples(st.sampled_from(["", "ab", "é" * 70, "x" * 3_000]), st.integers(1, 900)), max_size=8),
    end=st.sampled_from(["", "no line end"]),
)
def test_the_middle_of_an_output_is_where_its_result_says(lines: list[tuple[str, int]], end: str) -> None:
    texts = (line for line, count in lines for _ in range(count))
    text = "".join(f"{number} {line}\n" for number, line in enumerate(texts)) + end
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        (Path(place) / "output").write_text(text)
        first, *others = results(bench, "execute_command", command="cat output")
        before, cut, after = first.partition("Output:\n")[2].partition("[… ")
        if not cut:
            assert before == text and not others
            return
        missing, _, tail = after.partition(" characters cut here …]\n")
        rest, tail = output_in(others), tail.rpartition("\n[")[0]
        head = text.removesuffix("\n").removesuffix(rest)
        assert before in (head, f"{head}\n") and rest.endswith(tail)
        assert int(missing.replace(",", "")) == len(text) - len(head) - len(tail) - text.endswith("\n")


@settings(max_examples=25)
@given(
    lines=st.lists(st.text(alphabet="aé\u20ac ", max_size=90), min_size=400, max_size=900),
    most=st.sampled_from([2_000, 10_000]),
)
def test_the_rest_of_a_page_is_what_its_call_returns(lines: list[str], most: int) -> None:
    text = "\n".join(f"{number} {line}" for number, line in enumerate(lines))
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        shown, _, note = first_part(text, most, bench).partition("\n\n[Showing ")
        if not note:
            assert shown == text
            return
        assert note.startswith(f"{len(shown):,} of {len(text):,} characters.")
        [(tool, arguments)] = NAMED_CALL.findall(note)
        rest = [line for page in results(bench, tool, **json.loads(arguments)) for line in NUMBERED.findall(page)]
        assert "\n".join([shown, *rest[1:]]) == text, "it goes on at the end of the last line that was shown"


@given(data=st.lists(st.sampled_from(["\n", "a\n", "long " * 30 + "\n", "x" * 9_000]), max_size=40))
@settings(max_examples=25)
def test_pages_of_an_output_are_all_of_it(data: list[str]) -> None:
    """Also of one that is mostly line ends, each of which gets a number."""
    text = "".join(data) * 20
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        name = bench.keep(text.encode())
        pages = results(bench, "read_command_output", artifact_id=name)
        assert output_in(pages) == text.removesuffix("\n")


@settings(max_examples=25)
@given(
    lines=st.lists(
        st.tuples(st.text(alphabet="aé€ \t", max_size=40), st.sampled_from([1, 1, 1, 60, 120])), min_size=1, max_size=60
    ),
    times=st.integers(1, 60),
    first=st.one_of(st.none(), st.integers(1, 40)),
    limit=st.one_of(st.none(), st.integers(1, 900)),
)
def test_pages_of_a_file_are_the_lines_that_were_wanted(
    lines: list[tuple[str, int]], times: int, first: int | None, limit: int | None
) -> None:
    """Also of long lines, whose rest another call returns."""
    texts = [text * count for text, count in lines] * times
    wanted = texts[(first or 1) - 1 :][: limit or len(texts)]
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        (Path(place) / "f.txt").write_text("\n".join(texts) + "\n")
        if not wanted:
            return
        given = {name: value for name, value in (("offset", first), ("limit", limit)) if value is not None}
        shown: list[str] = []
        following: dict[str, Any] | None = {"path": "f.txt", **given}
        while following is not None:
            page = bench.call("read_file", **following).content
            assert len(page) <= RESULT_CHARACTERS
            here = NUMBERED_WHOLE.findall(page)
            numbers = claimed(page, "lines")
            assert [int(number) for number, _ in here] == list(numbers or range(1, len(texts) + 1))
            shown += whole_lines(bench, page, [line for _, line in here])
            calls = [json.loads(arguments) for tool, arguments in NAMED_CALL.findall(page) if tool == "read_file"]
            following = calls[0] if calls else None
        assert shown == wanted


def whole_lines(bench: Workbench, page: str, lines: list[str]) -> list[str]:
    """The lines of a page, those that are cut in it with what the call that it names returns."""
    cut = [number for number, line in enumerate(lines) if line.endswith("...")]
    for tool, arguments in NAMED_CALL.findall(page):
        if tool == "read_command_output":
            stored = output_in(results(bench, tool, **json.loads(arguments))).split("\n")
            rest = [lines[cut[0]][:-3] + stored[0]] if len(cut) == 1 else stored
            lines = [rest[cut.index(number)] if number in cut else line for number, line in enumerate(lines)]
    return lines


@settings(max_examples=20)
@given(
    files=st.lists(st.lists(st.sampled_from(["needle", "hay", "needle " + "x" * 450, ""]), max_size=60), max_size=30),
    most=st.sampled_from([1, 7, 300]),
    context=st.integers(0, 3),
)
def test_pages_of_matches_are_all_of_them(files: list[list[str]], most: int, context: int) -> None:
    expected = [
        (f"{number:02}.txt", line)
        for number, lines in enumerate(files)
        for line, text in enumerate(lines, 1)
        if "needle" in text
    ][: most * 12]
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        for number, lines in enumerate(files):
            (Path(place) / f"{number:02}.txt").write_text("".join(f"{line}\n" for line in lines))
        found: list[tuple[str, int]] = []
        following: dict[str, Any] | None = {"regex": "needle", "max_results": most, "context": context}
        while following is not None and len(found) < len(expected):
            page = bench.call("search_files", **following).content
            assert len(page) <= RESULT_CHARACTERS
            here = matches_in(page)
            numbers = claimed(page, "matches")
            assert len(here) == (len(numbers) if numbers else int((re.search(r"Found (\d+)", page) or [0, 0])[1]))
            found += here
            calls = [json.loads(arguments) for tool, arguments in NAMED_CALL.findall(page) if tool == "search_files"]
            following = calls[0] if calls else None
        assert found[: len(expected)] == expected


def matches_in(page: str) -> list[tuple[str, int]]:
    """Each matching line of a page: its file and its number."""
    found, path = [], ""
    for line in page.split("\n"):
        if line.startswith("# "):
            path = line.removeprefix("# ")
        elif (row := re.match(r" *(\d+) \| needle", line)) is not None:
            found.append((path, int(row[1])))
    return found


def test_what_was_cut_of_a_background_process_is_where_its_result_says(bench: Workbench) -> None:
    """At the start, and again with what it printed later."""

    async def played() -> None:
        script = "seq 1 20000; read x; seq 20001 50000; read x"
        first = await bench.call_in_loop("background_process", action="start", command=script, wait=10)
        second = await bench.call_in_loop("background_process", action="send", id="bg1", input="go", wait=10)
        for result, last in ((first, 20_000), (second, 50_000)):
            shown = [int(each) for each in re.findall(r"^\d+$", result.content, re.MULTILINE)]
            gap = next(number for number in range(1, len(shown)) if shown[number] != shown[number - 1] + 1)
            [(tool, arguments)] = NAMED_CALL.findall(result.content)
            page = await bench.call_in_loop(tool, **json.loads(arguments))
            rest = [int(each) for each in NUMBERED.findall(page.content) if each]
            assert rest[0] == shown[gap - 1] + 1 and shown[-1] == last
        await bench.call_in_loop("background_process", action="stop", id="bg1")

    asyncio.run(played())


def test_short_names_stay_apart(bench: Workbench) -> None:
    """Even if two contents begin with the same digits, which a hostile program can bring about."""
    first = bench.keep(b"one")
    whole = next(path.name for path in bench.artifacts.iterdir())
    (bench.artifacts / f"{whole[:10]}{'0' * 22}").write_text("two")
    assert bench.keep(b"one") == whole[:11]
    with pytest.raises(Exception, match=f"Several stored outputs begin with {first}"):
        bench.kept(first)
    assert bench.kept(whole[:11]).read_bytes() == b"one" and bench.kept(whole).read_bytes() == b"one"


def test_the_names_that_results_give_are_short(bench: Workbench) -> None:
    result: ToolResult = bench.call("execute_command", command="seq 100000")
    assert re.search(r'\{"artifact_id":"[0-9a-f]{8}","offset":\d+\}\]$', result.content)
