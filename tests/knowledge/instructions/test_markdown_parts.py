"""Splitting instruction files: never an error, nothing lost, imports only in prose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.knowledge.instructions.markdown_parts import Code, Comment, Import, markdown_parts

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["\n", "\n\n", "`", "``", "```", "```sh\n", "~~~\n", "<!--", "-->", "<!-->", " ", "- ", "> ", "    ", "\\ "]
        ),
        st.sampled_from(["@a.md", "@~/b.md", "x@y.z", "(@c)", "\r\n", "\u2028", "\x0c", "\0"]),
        st.text(max_size=5),
    ),
    max_size=40,
).map("".join)


def imports(document: str) -> list[str]:
    return [part.path for part in markdown_parts(document) if isinstance(part, Import)]


@given(PIECES)
def test_the_parts_joined_are_the_document(document: str) -> None:
    assert "".join(part.text for part in markdown_parts(document)) == document


@given(PIECES)
def test_nothing_in_a_fence_is_an_import_or_a_comment(inside: str) -> None:
    # A fence longer than any that is inside can be closed by itself alone.
    fence = "`" * (len(inside) + 3)
    parts = markdown_parts(f"before\n{fence}\n{inside}\n{fence}\nbehind @it.md")
    assert [part.path for part in parts if isinstance(part, Import)] == ["it.md"]
    assert not any(isinstance(part, Comment) for part in parts)
    assert sum(inside in part.text for part in parts if isinstance(part, Code)) == 1


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ("@AGENTS.md", ["AGENTS.md"]),
        ("See @docs/a.md, @./b.md. (@c.md) and **@d.md**", ["docs/a.md", "./b.md", "c.md"]),
        ("@~/mine.md @/abs.md @../up.md", ["~/mine.md", "/abs.md", "../up.md"]),
        (r"@my\ notes.md and more", ["my notes.md"]),
        ("write to me@example.org or @@twice", []),
        ("`@a.md` and ``x ` @b.md`` and @c.md", ["c.md"]),
        ("a span over `two\nlines @a.md` @b.md", ["b.md"]),
        ("a lone ` here\n\n@a.md ` in another paragraph", ["a.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]),
        ("- ```\n  @a.md\n  ```\n- @b.md", ["b.md"]),
        ("~~~\n@a.md\n```\n@b.md", []),
        ("<!-- @a.md\n@b.md -->\n@c.md", ["c.md"]),
        ("<!-- never closed @a.md", ["a.md"]),
        ("<!-->\n@a.md", ["a.md"]),
        ("@ @. @! @-", []),
    ],
)
def test_imports_are_found_only_in_prose(document: str, found: list[str]) -> None:
    assert imports(document) == found


def test_block_comments_are_separated_from_the_text_after_them() -> None:
    parts = markdown_parts("One\n<!-- for\n\nus --> two\nan inline <!-- stays --> three\n")
    assert "".join(part.text for part in parts if not isinstance(part, Comment)) == (
        "One\n two\nan inline <!-- stays --> three\n"
    )


@pytest.mark.parametrize(
    "piece", ["```a ", "` `` ", "<!-- ", "<!--\n", "<!-->\n", "@a ", "~~~\n", "- ", "\\ ", " ", ">"]
)
def test_repetitive_documents_are_split_in_linear_time(piece: str) -> None:
    document = piece * (400_000 // len(piece))
    assert "".join(part.text for part in markdown_parts(document)) == document
