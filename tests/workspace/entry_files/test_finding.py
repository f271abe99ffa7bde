"""The files that decide what a command means: all that it starts from, and none if that cannot be known."""

from pathlib import Path

import pytest

from robota.workspace.entry_files.finding import Unpinnable, find_entry

FILES = {
    "x.py": "",
    "x.sh": "#!./own-shell ./own-library\n",
    "own-shell": "",
    "own-library": "",
    "sub/x.py": "",
    "sub/struct.py": "",
    "sub/Makefile": "include rules/*.mk\n",
    "sub/rules/a.mk": "include b.mk\n",
    "sub/b.mk": "",
    "Makefile": "-include extra.mk # more\n\tinclude indented.mk\ninclude \\\n  rest.mk\n-load library.so\n"
    "include $(WHATEVER)\n",
    "extra.mk": "",
    "indented.mk": "",
    "rest.mk": "",
    "library.so": "",
    "other.mk": "",
    "package.json": '{"scripts": {"build": "tsc", "prebuild": "x", "test": "jest"}}',
    ".npmrc": "",
    "sub/deep/y.js": "",
    "tool/__init__.py": "",
    "tool/__main__.py": "",
    "pyproject.toml": "",
    "node_modules/jest/cli.js": "",
    "justfile": "",
    "tox.ini": "",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "ws" / "x.sh").chmod(0o755)
    binaries = tmp_path / "ws" / "node_modules" / ".bin"
    binaries.mkdir()
    (binaries / "jest").symlink_to("../jest/cli.js")
    return tmp_path / "ws"


@pytest.mark.parametrize(
    ("command", "directory", "files"),
    [
        ("python3 x.py", ".", {"x.py"}),
        ("python3.12 -u -W ignore x.py data.json", ".", {"x.py"}),
        ("python3 sub/x.py", ".", {"sub/x.py", "sub/struct.py"}),
        ("python3 -m tool", ".", {"tool/__init__.py", "tool/__main__.py"}),
        ("python3 -Bm tool.__main__", ".", {"tool/__init__.py", "tool/__main__.py"}),
        ("python3 -m unittest", "sub", {"sub/struct.py"}),
        ("python3 -m unittest", ".", set()),
        ("python3 -c pass", "sub", {"sub/struct.py"}),
        ("./x.sh a b", ".", {"x.sh", "own-shell", "own-library"}),
        ("bash -eu x.sh", ".", {"x.sh", "own-shell", "own-library"}),
        ("node sub/deep/y.js", ".", {"sub/deep/y.js"}),
        ("node --test", ".", set()),
        ("make test", ".", {"Makefile", "extra.mk", "indented.mk", "rest.mk", "library.so"}),
        ("make -j4 -C sub test", ".", {"sub/Makefile", "sub/rules/a.mk", "sub/b.mk"}),
        ("make -Csub", ".", {"sub/Makefile", "sub/rules/a.mk", "sub/b.mk"}),
        ("make --file=other.mk", ".", {"other.mk"}),
        ("npm run build", "sub/deep", {"package.json", ".npmrc"}),
        ("npm test -- --watch", ".", {"package.json", ".npmrc"}),
        ("npm install left-pad", ".", set()),
        ("yarn jest", ".", {"node_modules/jest/cli.js"}),
        ("npx jest -w", "sub", {".npmrc", "node_modules/jest/cli.js"}),
        ("uv run pytest", ".", {"pyproject.toml"}),
        ("uv run sub/x.py", ".", {"pyproject.toml", "sub/x.py", "sub/struct.py"}),
        ("uv run python x.py", ".", {"pyproject.toml", "x.py"}),
        ("just build", "sub/deep", {"justfile"}),
        ("tox -e py311", ".", {"tox.ini", "pyproject.toml"}),
        ("rm -r build", ".", set()),
    ],
)
def test_which_files_decide(project: Path, command: str, directory: str, files: set[str]) -> None:
    assert set(find_entry(tuple(command.split()), directory, project).names) == files


@pytest.mark.parametrize(
    "command",
    [
        *("python3", "python3 -", "bash", "bash -s", "node", "python3 -i x.py"),
        *("bash -c ./x.sh", "bash --rcfile x.sh", "node -r ./x.js y.js"),
        *("python3 /tmp/x.py", "bash /dev/stdin", "python3 /proc/self/fd/0", "python3 link.py"),
        *("make -kC sub", "make -f -", "make -I sub", "make --eval=x", "just -f x", "tox -c x"),
        *("npm --prefix sub run build", "npm run build --script-shell=./x", "yarn --cwd sub build", "npm -C sub test"),
        *("python3 tool", "python3 later.py", "node .", "node sub/deep/y", "npm run later", "npm restart"),
        *("rake", "ninja", "make -f missing", "make -C tool"),
        *("uv run --directory sub x.py", "uv run", "npx -p evil tool", "git bisect run ./x.sh"),
    ],
)
def test_what_may_come_from_elsewhere_is_not_tied_to_files(project: Path, command: str) -> None:
    (project / "link.py").symlink_to("/tmp/x.py")
    with pytest.raises(Unpinnable):
        find_entry(tuple(command.split()), ".", project)


@pytest.mark.parametrize(
    ("command", "changed", "text"),
    [
        ("python3 x.py", "x.py", "evil"),
        ("python3 x.py", "struct.py", ""),
        ("python3 x.py", "struct.pyc", ""),
        ("python3 -m unittest", "unittest/__init__.py", ""),
        ("python3 -m unittest", "sitecustomize.py", ""),
        ("python3 -m missing", "missing.py", ""),
        ("make test", "GNUmakefile", "test:"),
        ("make test", "extra.mk", "evil"),
        ("npm run build", "package.json", '{"scripts": {"build": "tsc", "prebuild": "x", "postbuild": "evil"}}'),
        ("npm run build", ".npmrc", "script-shell=./evil"),
        ("yarn jest", "package.json", '{"scripts": {"jest": "evil"}}'),
        ("npx jest", "node_modules/jest/cli.js", "evil"),
        ("./x.sh", "own-shell", "evil"),
        ("./x.sh", "own-library", "evil"),
        ("npm t", "package.json", '{"scripts": {"test": "evil"}}'),
        ("npm urn build", "package.json", '{"scripts": {"build": "evil"}}'),
        ("make test", "rest.mk", "evil"),
        ("make test", "indented.mk", "evil"),
        ("make test", "library.so", "evil"),
        ("make test SHELL=./own-shell", "own-shell", "evil"),
        ("python3 -m tool", "tool/__main__.cpython-311-x86_64-linux-gnu.so", "evil"),
        ("python3 -m x", "x.so", "evil"),
        ("python3 x.py", "json/__init__.pyc", "evil"),
        ("python3 x.py", "json/__init__.abi3.so", "evil"),
        (".venv/bin/python x.py", ".venv/pyvenv.cfg", "home = evil"),
        ("uv run pytest", ".venv/bin/pytest", "evil"),
        ("uv run pytest", ".venv/pyvenv.cfg", "home = evil"),
        ("uv run pytest", ".python-version", "./evil"),
        ("tox", "toxfile.py", "evil"),
    ],
)
def test_a_change_of_what_decides_changes_the_digest(project: Path, command: str, changed: str, text: str) -> None:
    before = find_entry(tuple(command.split()), ".", project).digest
    assert find_entry(tuple(command.split()), ".", project).digest == before
    (project / changed).parent.mkdir(parents=True, exist_ok=True)
    (project / changed).write_text(text)
    assert find_entry(tuple(command.split()), ".", project).digest != before


def test_another_script_of_the_package_does_not_matter(project: Path) -> None:
    before = find_entry(("npm", "test"), ".", project).digest
    (project / "package.json").write_text('{"version": "2", "scripts": {"test": "jest", "build": "other"}}')
    assert find_entry(("npm", "test"), ".", project).digest == before
    (project / "package.json").write_text("{")
    with pytest.raises(Unpinnable):
        find_entry(("npm", "test"), ".", project)


def test_a_huge_script_and_too_many_files_are_not_read(project: Path) -> None:
    with (project / "huge.py").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(Unpinnable):
        find_entry(("python3", "huge.py"), ".", project)
    for number in range(100):
        (project / f"{number}.mk").write_text("")
    (project / "many.mk").write_text("include *.mk\n")
    with pytest.raises(Unpinnable):
        find_entry(("make", "-f", "many.mk"), ".", project)


def test_a_workspace_that_is_reached_through_a_link_has_the_same_files(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert find_entry(("python3", "x.py"), ".", tmp_path / "link").names == ("x.py",)
