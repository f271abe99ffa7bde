"""Which files of a workspace a program outside the sandbox runs, read from its command line and from its scripts."""

from pathlib import Path

import pytest

from robota.workspace.outside_code.code_search import MAX_FILES, CodeFiles, NamedProgram, find_code

FILES = {
    "scripts/fmt.sh": '#!/bin/sh\n. "$(dirname "$0")/lib.sh"\n',
    "scripts/lib.sh": "name=value\n",
    "scripts/on.d/one.sh": "",
    "tools/hook.py": "import json\nimport common\nfrom pkg import mod\n",
    "tools/common.py": "",
    "tools/pkg/__init__.py": "from . import other\n",
    "tools/pkg/mod.py": "",
    "tools/pkg/other.py": "",
    "tools/unused.py": "",
    "x.js": "const y = require('./lib/y'); const fs = require('fs')\n",
    "lib/y.js": "import z from '../lib/z.mjs'\n",
    "lib/z.mjs": "",
    "with-packages.js": "import lodash from 'lodash'\n",
    "node_modules/lodash/index.js": "",
    "package.json": '{"scripts": {"fmt": "node build.js"}}',
    "build.js": "",
    "Makefile": "fmt:\n\t./scripts/lib.sh\n",
    ".claude/hooks/x.sh": "echo\n",
    ".venv/pyvenv.cfg": "",
    ".venv/bin/ruff": "",
    "my dir/s.sh": "",
    "own/__init__.py": "",
    "own/__main__.py": "from own import part\n",
    "own/part.py": "",
    "src/main.py": "import tools\n",
    "README.md": "",
}
FMT = {"scripts/fmt.sh", "scripts/lib.sh"}
HOOK = {"tools/hook.py", "tools/common.py", "tools/pkg/__init__.py", "tools/pkg/mod.py", "tools/pkg/other.py"}
OWN = {"own/__init__.py", "own/__main__.py", "own/part.py"}
COMMANDS: dict[str, set[str]] = {
    "scripts/fmt.sh": FMT,
    "./scripts/fmt.sh && echo done": FMT,
    "cd scripts && ./fmt.sh": FMT,
    'sh -c "scripts/fmt.sh"': FMT,
    "bash -c 'cd scripts; . ./lib.sh'": {"scripts/lib.sh"},
    "$ROOT/scripts/fmt.sh": FMT,
    "${ROOT:-.}/scripts/fmt.sh": FMT,
    '"$CLAUDE_PROJECT_DIR"/.claude/hooks/x.sh': {".claude/hooks/x.sh"},
    "env A=1 nice -n 5 timeout 10 scripts/fmt.sh src": FMT,
    "jq -r .x | xargs scripts/fmt.sh": FMT,
    "if true; then scripts/fmt.sh; fi": FMT,
    "echo $(scripts/fmt.sh)": FMT,
    "for each in scripts/on.d/*.sh; do . $each; done": {"scripts/on.d/one.sh"},
    "echo 'unclosed scripts/fmt.sh": FMT,
    "python tools/hook.py": HOOK,
    "python3 -X utf8 -u tools/hook.py --flag": HOOK,
    "uv run tools/hook.py": {*HOOK, ".venv"},
    "node --require ./lib/y.js build.js": {"build.js", "lib/y.js", "lib/z.mjs"},
    "env A=1 python3 -m own": OWN,
    "python3 -c 'import own.part'": OWN,
    "node x.js": {"x.js", "lib/y.js", "lib/z.mjs"},
    "node with-packages.js": {"with-packages.js", "node_modules"},
    "npm run fmt": {"package.json", "build.js", "node_modules"},
    "make fmt": {"Makefile", "scripts/lib.sh"},
    ".venv/bin/ruff check src": {".venv"},
    "'my dir/s.sh'": {"my dir/s.sh"},
    "scripts/missing.sh": {"scripts/missing.sh"},
    "PYTHONPATH=tools ruff check src": set(),
    "ruff check src README.md": set(),
    "echo hi > scripts/fmt.sh": set(),
    "jq . | cat": set(),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    for name in ("scripts/fmt.sh", ".claude/hooks/x.sh", ".venv/bin/ruff", "my dir/s.sh"):
        (place / name).chmod(0o755)
    return place


def found(root: Path, *argv: str, **variables: str) -> CodeFiles:
    return find_code(NamedProgram(label="hook", argv=argv, cwd=root, variables=variables), root)


def names(code: CodeFiles, root: Path) -> set[str]:
    return {str(place.relative_to(root)) for place in code.places}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_files_that_a_command_runs_are_found(root: Path, command: str) -> None:
    code = found(root, "/bin/sh", "-c", command)
    assert names(code, root) == COMMANDS[command]
    assert not code.unbounded


@pytest.mark.parametrize("command", ("pytest -q", "python -m pytest", "npx jest", "cargo test", "uv run pytest"))
def test_a_program_that_runs_code_from_everywhere_is_called_unbounded(root: Path, command: str) -> None:
    assert "all over the workspace" in found(root, "/bin/sh", "-c", command).unbounded


def test_a_server_is_read_like_a_command(root: Path) -> None:
    assert names(found(root, "python3", "tools/hook.py"), root) == HOOK
    assert names(found(root, "uvx", "--from", "./own", "tool"), root) == {"own", ".venv"}
    assert names(found(root, "python3", "-m", "elsewhere", PYTHONPATH=str(root / "tools")), root) == {"tools"}
    assert names(found(root, "server", CLAUDE_PLUGIN_ROOT=str(root / "lib")), root) == {"lib"}
    assert names(found(root, "server", DATA=str(root / "lib")), root) == set()


def test_a_new_module_beside_a_script_is_noticed(root: Path) -> None:
    assert found(root, "python3", "tools/hook.py").module_directories == (root / "tools",)


def test_a_module_of_python_itself_is_kept_from_importing_the_workspace(root: Path) -> None:
    assert found(root, "python3", "-m", "json.tool").starts_python_modules
    assert not found(root, "python3", "-m", "own").starts_python_modules
    assert not found(root, "python3", "tools/hook.py").starts_python_modules


def test_a_link_counts_with_what_it_leads_to(root: Path) -> None:
    (root / "link.sh").symlink_to("scripts/fmt.sh")
    assert {"link.sh", *FMT} <= names(found(root, "/bin/sh", "-c", "./link.sh"), root)


def test_more_than_the_limit_is_said(root: Path) -> None:
    for number in range(MAX_FILES + 10):
        (root / f"tools/m{number}.py").write_text(f"import m{number + 1}\n")
    assert "more than 400 files" in found(root, "python3", "tools/m0.py").unbounded


def test_texts_that_nobody_would_write_end(root: Path) -> None:
    nested = "x"
    for _ in range(15):
        nested = f"sh -c {nested!r} a b"
    data = "[" + ", ".join(f'{{"name": "n{number}", "$x/y)": "a/b"}}' for number in range(5_000)) + "]"
    for text in (
        nested,
        data,
        data.replace(" ", ""),
        "'" * 999,
        "$(" * 2000,
        "a " * 30_000,
        "./x\\\n" * 50,
        "\0",
        "x" * 100_000,
    ):
        found(root, "/bin/sh", "-c", text)
