"""Front matter: every document is read in linear time, and no text is lost."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robota.knowledge.front_matter import read_front_matter


@given(st.text())
def test_a_document_without_front_matter_is_all_text(document: str) -> None:
    read = read_front_matter(document)
    if not document.removeprefix("\ufeff").startswith("---"):
        assert read.fields == {} and read.problem is None and read.text == document.removeprefix("\ufeff")


@given(head=st.text(), text=st.text())
def test_no_front_matter_raises_and_the_text_after_it_is_kept(head: str, text: str) -> None:
    if "---" in head:
        return
    read = read_front_matter(f"---\n{head}\n---\n{text}")
    assert read.text == text


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])))
def test_the_fast_path_agrees_with_the_yaml_parser(value: str) -> None:
    line = f"description: {value}"
    read = read_front_matter(f"---\n{line}\n---\n")
    try:
        expected = yaml.safe_load(line)
    except (yaml.YAMLError, ValueError):
        return
    if read.problem is None and isinstance(expected, dict):
        assert read.fields == {str(key): each for key, each in expected.items()}


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        ("---\nname: deploy\ndescription: Puts it out: now\n---\nbody", {"description": "Puts it out: now"}),
        (
            "---\nname: deploy\ndescription: ships it, e.g. http://x\n---\nbody",
            {"description": "ships it, e.g. http://x"},
        ),
        ('---\nname: "a: b"\n---\nbody', {"name": "a: b"}),
        ("---\nallowed-tools: [Read, Bash(git *)]\n---\nbody", {"allowed-tools": ["Read", "Bash(git *)"]}),
        ("---\nallowed-tools:\n  - Read\n  - Grep\n---\nbody", {"allowed-tools": ["Read", "Grep"]}),
        ("---\ndescription: |\n  two\n  lines\n---\nbody", {"description": "two\nlines\n"}),
        ("---\r\nname: crlf\r\n---\r\nbody", {"name": "crlf"}),
        ("---\nflag: true\ncount: 3\n---\nbody", {"flag": True, "count": 3}),
        ("\ufeff---\nname: bom\n---\nbody", {"name": "bom"}),
        (
            '---\nargument-hint: [pr] [priority]\nallowed-tools: [Read, "Bash(git *)"]\nx: |\n  a: [\n  b\n---\nbody',
            {"argument-hint": "[pr] [priority]", "allowed-tools": ["Read", "Bash(git *)"], "x": "a: [\nb\n"},
        ),
    ],
)
def test_front_matter_fields_are_read(document: str, fields: dict[str, object]) -> None:
    read = read_front_matter(document)
    assert read.text == "body"
    assert read.problem is None and fields.items() <= read.fields.items()


def test_front_matter_that_is_not_closed_is_text_and_reported() -> None:
    document = "---\nname: deploy\n\nPut it out."
    read = read_front_matter(document)
    assert (read.fields, read.text, read.problem) == ({}, document, "its front matter has no closing ---")
    assert read_front_matter("---\n\nA rule, then text.").problem is None


@pytest.mark.parametrize(
    "head",
    [
        "a: &a [x]\nb: [*a, *a]",
        "[" * 150,
        "[" * 10_000,
        "{a: " * 10_000,
        "x: " + "y" * 30_000,
        "? " * 9_000,
        "!!python/object/apply:os.system ['true']",
        "- a\n- list",
    ],
)
def test_hostile_front_matter_is_reported_and_ignored(head: str) -> None:
    read = read_front_matter(f"---\n{head}\n---\nbody")
    assert read.fields == {} and read.problem and read.text == "body"
