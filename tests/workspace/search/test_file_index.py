"""Finding paths by letters: what is found, in which order, whatever the names and the letters are."""

from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.search.file_index import FileIndex

names = st.text("abAB._- ß\u0130\n\x1b", min_size=1, max_size=6)
paths = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), max_size=20, unique=True)


def shown(path: str) -> bool:
    return False


def best(files: list[str], query: str) -> tuple[str, ...]:
    return FileIndex(files).best(query, 50, shown)


def has_in_order(text: str, letters: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


@given(paths, st.text("ab./-ß\u0130\n", max_size=4))
def test_every_result_has_the_letters_in_order_and_is_there_once(files: list[str], query: str) -> None:
    found = best(files, query)
    assert len(set(found)) == len(found)
    assert all(has_in_order(path.lower(), query.lower()) for path in found)
    assert all(path.isprintable() for path in found)


@given(paths, st.text("ab./-", min_size=1, max_size=4))
def test_no_path_is_missed_that_has_the_letters_in_one_piece(files: list[str], query: str) -> None:
    wanted = {path for path in files if path.isprintable() and query.lower() in path.lower()}
    assert wanted <= set(best(files, query))


@given(paths)
def test_hidden_paths_are_never_among_them(files: list[str]) -> None:
    assert not any("a" in path for path in FileIndex(files).best("", 50, lambda path: "a" in path))


def test_names_come_before_paths_and_short_ones_before_long_ones() -> None:
    files = ["core/x/main.py", "main.py", "domain.py", "main/other.txt", "a/main_loop.py", "z/mxaxixn.py"]
    assert best(files, "main") == (
        "main/",
        "main.py",
        "core/x/main.py",
        "a/main_loop.py",
        "domain.py",
        "main/other.txt",
    )


def test_scattered_letters_are_found_where_little_has_them_in_one_piece() -> None:
    files = ["src/session_handler.py", "src/sh.py", "docs/handler.md"]
    assert best(files, "seshan") == ("src/session_handler.py",)
    assert best(files, "srhan")[0] == "src/session_handler.py"


def test_a_query_with_a_slash_is_about_paths() -> None:
    files = ["src/app/main.py", "lib/src/app.py", "src/app.py"]
    assert best(files, "src/app") == ("src/app/", "src/app.py", "src/app/main.py", "lib/src/app.py")


def test_an_empty_query_begins_at_the_top() -> None:
    assert best(["b/c/d.py", "z.py", "a/x.py"], "")[:3] == ("a/", "b/", "z.py")


def test_no_more_than_wanted() -> None:
    assert len(FileIndex([f"f{n}.py" for n in range(100)]).best("f", 7, shown)) == 7
