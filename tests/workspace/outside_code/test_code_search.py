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
    "tools/run": "#!/usr/bin/env python3\nimport common\n",
    "scripts/plain.sh": ". scripts/lib.sh\n",
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
    "tools/run": {"tools/run", "tools/common.py"},
    "sh scripts/plain.sh": {"scripts/plain.sh", "scripts/lib.sh"},
    "npx --yes ./own": {"own", "build.js", "package.json", "node_modules"},
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
    return {str(place.relative_to(root)) for place in code.protected_paths}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_files_that_a_command_runs_are_found(root: Path, command: str) -> None:
    code = found(root, "/bin/sh", "-c", command)
    assert names(code, root) == COMMANDS[command]
    assert not code.unbounded


@pytest.mark.parametrize(
    "command", ("pytest -q", "python -m pytest", "npx jest", "cargo test", "uv run pytest", "nix-build")
)
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


# A command, the files of the workspace, and the one of them that the command loads.
LOADED: tuple[tuple[str, dict[str, str], str], ...] = (
    ("python3 s/h.py", {"s/h.py": "import subprocess\nsubprocess.run(['sh', 's/x.sh'])\n"}, "s/x.sh"),
    ("python3 s/h.py", {"s/h.py": "exec(open('helper.py').read())\n"}, "helper.py"),
    ("node s/h.js", {"s/h.js": "require('child_process').execSync('sh s/x.sh')\n"}, "s/x.sh"),
    ("s/x.sh", {"s/x.sh": "#!/usr/bin/env -S bash ./lib.sh\n"}, "lib.sh"),
    ("s/x.sh", {"s/x.sh": "#!/bin/sh\nfor f in a b; do . ./lib/$f.sh; done\n"}, "lib/a.sh"),
    ("make", {"Makefile": "include build/rules\nall:\n"}, "build/rules"),
    ("ruby -Ilib h.rb", {"h.rb": "require 'x'\n"}, "lib/x.rb"),
    ("perl -I lib h.pl", {"h.pl": "use Foo;\n"}, "lib/Foo.pm"),
    ("java -cp lib/a.jar:build Main", {}, "build/Main.class"),
    ("ts-node h.ts", {"h.ts": ""}, "tsconfig.json"),
    ("npm run x -w pkg", {"package.json": "{}", "pkg/package.json": '{"scripts": {"x": "node y.js"}}'}, "pkg/y.js"),
    ("prettierd x.js", {}, "prettier.config.js"),
    ("eslint_d src", {}, ".eslintrc.js"),
    ("luacheck .", {}, ".luacheckrc"),
)
# Scripts whose text says that they load more, but not what.
NOT_KNOWN: tuple[tuple[str, dict[str, str]], ...] = (
    ("ruby s/h.rb", {"s/h.rb": "require_relative 'lib/x'\n"}),
    ("perl h.pl", {"h.pl": "use lib 'lib'; use Foo;\n"}),
    ("php h.php", {"h.php": "<?php require __DIR__ . '/lib.php';\n"}),
    ("lua h.lua", {"h.lua": "local x = require('lib.x')\n"}),
    ("python3 s/h.py", {"s/h.py": "import os, sys\nsys.path.insert(0, os.getcwd())\nimport helper\n"}),
    ("python3 h.py", {"h.py": "from importlib.util import spec_from_file_location as f\nf('x', 'li' + 'b/x.py')\n"}),
    ("node h.mjs", {"h.mjs": "import x from '#lib'\n"}),
    ("node h.js", {"h.js": "import(`./plugins/${process.argv[2]}.js`)\n"}),
    ("node h.js", {"h.js": "require(path.join(__dirname, 'x'))\n"}),
    ("tsx h.ts", {"h.ts": "import x from '@lib/x'\n"}),
    ("deno run h.ts", {"h.ts": "import x from 'lib'\n"}),
    ("inv fmt", {}),
    ("nix fmt", {}),
)
KNOWN = (
    ("ruby h.rb", {"h.rb": "require 'json'\nputs 1\n"}),
    ("perl h.pl", {"h.pl": "use strict; print 1;\n"}),
    ("python3 h.py", {"h.py": "import sys, json\nprint(sys.argv, 'no file')\n"}),
    ("node h.js", {"h.js": "const fs = require('fs'); import('./x.js')\n", "x.js": ""}),
    ("tsx h.ts", {"h.ts": "import fs from 'node:fs'\nimport x from 'x'\n", "node_modules/x/index.js": ""}),
)


def _found(root: Path, command: str, files: dict[str, str]) -> CodeFiles:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return find_code(NamedProgram(label="hook", argv=("/bin/sh", "-c", command), cwd=root), root)


@pytest.mark.parametrize(("command", "files", "loaded"), LOADED)
def test_a_file_that_a_script_names_is_found(tmp_path: Path, command: str, files: dict[str, str], loaded: str) -> None:
    place = tmp_path / loaded
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")
    found = _found(tmp_path, command, files)
    assert any(place.is_relative_to(each) for each in found.protected_paths), found


@pytest.mark.parametrize(("command", "files"), NOT_KNOWN)
def test_a_script_that_loads_nobody_knows_what_is_not_taken_for_protected(
    tmp_path: Path, command: str, files: dict[str, str]
) -> None:
    assert _found(tmp_path, command, files).unbounded


@pytest.mark.parametrize(("command", "files"), KNOWN)
def test_a_script_that_loads_only_what_it_names_is(tmp_path: Path, command: str, files: dict[str, str]) -> None:
    assert not _found(tmp_path, command, files).unbounded
