"""Programs of version managers and package managers in a home start in the sandbox, through their shims."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspace.sandbox.cells import KINDS, Cell
from tests.workspace.sandbox.home.planted import live_in, outside_of_tmp, renew, write

# The program that a user starts, by its directory on the PATH, and a file that it needs from elsewhere in the home.
TOOL_CHAINS = {
    "pyenv": (".pyenv/shims", ".pyenv/versions/3.12.1/lib/python3.12/os.py"),
    "nvm": (".nvm/versions/node/v20.1.0/bin", ".nvm/versions/node/v20.1.0/lib/node_modules/npm/cli.js"),
    "fnm": (".local/state/fnm_multishells/1_2/bin", ".local/share/fnm/node-versions/v20/installation/lib/a.js"),
    "volta": (".volta/bin", ".volta/tools/image/node/20/bin/node.js"),
    "nodenv": (".nodenv/shims", ".nodenv/versions/20/lib/a.js"),
    "cargo": (".cargo/bin", ".cargo/registry/src/index/serde/lib.rs"),
    "rustup": (".cargo/bin", ".rustup/toolchains/stable/lib/librustc.so"),
    "go": ("go/bin", "go/pkg/mod/example.com/a/a.go"),
    "goroot": ("sdk/go1.23/bin", "sdk/go1.23/src/fmt/print.go"),
    "conda": ("miniconda3/bin", "miniconda3/lib/python3.12/os.py"),
    "mamba": (".local/share/mamba/envs/a/bin", ".local/share/mamba/envs/a/lib/libz.so"),
    "uv": (".local/bin", ".local/share/uv/python/cpython-3.12/lib/python3.12/os.py"),
    "uv-tool": (".local/bin", ".local/share/uv/tools/ruff/lib/ruff.py"),
    "pipx": (".local/bin", ".local/share/pipx/venvs/black/lib/black.py"),
    "poetry": (".local/bin", ".local/share/pypoetry/venv/lib/poetry.py"),
    "rye": (".rye/shims", ".rye/py/cpython@3.12/lib/os.py"),
    "pixi": (".pixi/bin", ".pixi/envs/a/lib/a.so"),
    "virtualenvs": (".virtualenvs/a/bin", ".virtualenvs/a/lib/a.py"),
    "user-packages": (".local/bin", ".local/lib/python3.12/site-packages/a.py"),
    "sdkman": (".sdkman/candidates/java/21/bin", ".sdkman/candidates/java/21/lib/modules"),
    "asdf": (".asdf/shims", ".asdf/installs/erlang/27/lib/a.beam"),
    "mise": (".local/share/mise/shims", ".local/share/mise/installs/node/20/lib/a.js"),
    "rbenv": (".rbenv/shims", ".rbenv/versions/3.3/lib/ruby/a.rb"),
    "rvm": (".rvm/bin", ".rvm/rubies/ruby-3.3/lib/a.rb"),
    "gems": (".gem/ruby/3.3.0/bin", ".gem/ruby/3.3.0/gems/rake/a.rb"),
    "ghcup": (".ghcup/bin", ".ghcup/ghc/9.8/lib/a.hi"),
    "cabal": (".cabal/bin", ".cabal/store/ghc/a.hi"),
    "opam": (".opam/default/bin", ".opam/default/lib/a.cmi"),
    "deno": (".deno/bin", ".cache/deno/gen/a.js"),
    "bun": (".bun/bin", ".bun/install/global/node_modules/a/a.js"),
    "dotnet": (".dotnet/tools", ".dotnet/sdk/8.0/dotnet.dll"),
    "pnpm": (".local/share/pnpm", ".local/share/pnpm/global/5/node_modules/a/a.js"),
    "yarn": (".yarn/bin", ".config/yarn/global/node_modules/a/a.js"),
    "npm-global": (".npm-global/bin", ".npm-global/lib/node_modules/a/a.js"),
    "composer": (".config/composer/vendor/bin", ".config/composer/vendor/a/a.php"),
    "jenv": (".jenv/shims", ".jenv/versions/21/lib/modules"),
    "coursier": (".local/share/coursier/bin", ".cache/coursier/v1/https/a.jar"),
    "juliaup": (".juliaup/bin", ".julia/juliaup/julia-1.11/lib/a.so"),
    "nix": (".nix-profile/bin", ".nix-profile/lib/a.so"),
    "elan": (".elan/bin", ".elan/toolchains/stable/lib/a.olean"),
    "flutter": ("flutter/bin", "flutter/lib/a.dart"),
    "own-scripts": ("bin", "bin/library.sh"),
}
CACHES = (
    ".cache/pip/http/a",
    ".cache/uv/wheels/a",
    ".npm/_cacache/index/a",
    ".cache/yarn/v6/a",
    ".local/share/pnpm/store/v3/a",
    ".cargo/git/db/a",
    "go/pkg/mod/cache/a",
    ".cache/go-build/a",
    ".m2/repository/org/a.jar",
    ".gradle/caches/a",
    ".gradle/wrapper/dists/a",
    ".cache/huggingface/hub/a",
    ".nuget/packages/a",
    ".cache/pre-commit/a",
    ".cache/ms-playwright/chromium/a",
    ".conda/pkgs/a",
)


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with outside_of_tmp() as place:
        yield place


def test_programs_of_every_tool_chain_start_through_their_shims(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (directory, library) in TOOL_CHAINS.items():
        program = f"#!/bin/sh\ncat {cell.home / library}\n"
        write(cell.home, {f"{directory}/run-{name}": program, library: f"{name}\n"})
    live_in(cell, monkeypatch, *(directory for directory, _ in TOOL_CHAINS.values()))
    done = cell.run("; ".join(f"run-{name}" for name in TOOL_CHAINS))
    assert done.stdout.split() == list(TOOL_CHAINS), done.stderr


def test_caches_for_building_without_a_network_can_be_read_and_not_changed(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cell.home, dict.fromkeys(CACHES, "cached\n"))
    live_in(cell, monkeypatch)
    done = cell.run("; ".join(f"cat ~/{name}; echo changed > ~/{name}" for name in CACHES))
    assert done.stdout == "cached\n" * len(CACHES), done.stderr
    assert {(cell.home / name).read_text() for name in CACHES} == {"cached\n"}


def test_tool_chains_are_found_where_variables_put_them(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cell.home, {"tools/rust/bin/cargo": "#!/bin/sh\ncat ~/tools/rust/registry/a\n", "tools/rust/registry/a": "a"})
    write(cell.home, {"tools/rust/credentials.toml": "secret", "data/uv/python/lib.py": "b"})
    home = cell.home
    live_in(cell, monkeypatch, "tools/rust/bin", CARGO_HOME=f"{home}/tools/rust", XDG_DATA_HOME=f"{home}/data")
    done = cell.run(f"cargo; cat {home}/data/uv/python/lib.py; cat ~/tools/rust/credentials.toml")
    assert done.stdout == "ab", done.stderr


def test_links_lead_to_their_targets(cell: Cell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cell.home, {"apps/tool/2.0/bin/tool": "#!/bin/sh\ncat ~/apps/tool/2.0/lib/a\n"})
    write(cell.home, {"apps/tool/2.0/lib/a": "one\n"})
    write(cell.home, {"moved/pyenv/shims/python": "#!/bin/sh\necho two\n", "bin/other": "#!/bin/sh\necho three\n"})
    (cell.home / "apps/tool/current").symlink_to("2.0")
    (cell.home / "bin/tool").symlink_to("../apps/tool/current/bin/tool")
    (cell.home / ".pyenv").symlink_to(cell.home / "moved/pyenv")
    (elsewhere / "bin").mkdir()
    (elsewhere / "bin/linked").symlink_to(cell.home / "bin/other")
    live_in(cell, monkeypatch, "bin", ".pyenv/shims", str(elsewhere / "bin"))
    assert cell.run("tool; python; linked").stdout == "one\ntwo\nthree\n"


def test_an_installed_script_finds_its_interpreter_and_the_base_of_its_environment(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tools of pip do: a script whose first line names a Python, which is a link to a Python elsewhere."""
    base, environment = cell.home / "python-3.12", cell.home / "environments/black"
    write(base, {"bin/python3": f"#!/bin/sh\ncat {base}/lib/os.py {environment}/lib/black.py\n", "lib/os.py": "base "})
    write(environment, {"pyvenv.cfg": f"home = {base}/bin\n", "lib/black.py": "black"})
    write(cell.home, {"bin/black": f"#!{environment}/bin/python\n"})
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(base / "bin/python3")
    live_in(cell, monkeypatch, "bin")
    assert cell.run(f"{environment}/bin/python").stdout == "base black"


def test_a_virtual_environment_of_the_workspace_finds_its_python_and_shows_nothing_else(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands can write there, so that its links and its configuration may lead anywhere."""
    base, environment = cell.home / "python-3.12", cell.root / ".venv"
    write(base, {"bin/python3": f"#!/bin/sh\ncat {base}/lib/python3.12/os.py\n", "lib/python3.12/os.py": "base"})
    write(cell.home, {"notes/lib/note": "secret", "notes/bin/a": "secret", "letters/letter": "secret"})
    write(environment, {"pyvenv.cfg": f"home = {base}/bin\n", "bin/script": f"#!{cell.home}/letters/letter\n"})
    (environment / "bin/python").symlink_to(base / "bin/python3")
    (environment / "bin/tool").symlink_to(cell.home / "notes/bin/a")
    (environment / "bin/letters").symlink_to(cell.home / "letters")
    live_in(cell, monkeypatch, str(environment / "bin"))
    assert cell.run("python; cat ~/notes/*/* ~/letters/letter").stdout == "base"
    (environment / "pyvenv.cfg").write_text(f"home = {cell.home}/notes/bin\n")
    renew(cell)
    assert cell.run("python; cat ~/notes/*/* ~/letters/letter").stdout == "base"


def test_a_project_beside_its_programs_stays_hidden(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cell.home, {"projects/site/bin/serve": "#!/bin/sh\necho serves\n", "projects/site/lib/a": "hidden"})
    write(cell.home, {"projects/site/.git/config": "hidden", "projects/site/.env": "hidden"})
    live_in(cell, monkeypatch, "projects/site/bin")
    assert cell.run("serve; cat ~/projects/site/.env ~/projects/site/lib/a").stdout == "serves\n"


def test_a_path_that_names_a_credential_store_or_the_home_opens_neither(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cell.home, {".ssh/bin/a": "secret", "notes.txt": "secret"})
    live_in(cell, monkeypatch, ".ssh/bin", ".ssh", ".")
    assert "secret" not in cell.run("cat ~/.ssh/id ~/.ssh/bin/a ~/notes.txt").stdout


def test_a_tool_that_appears_is_found_by_the_next_session(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    live_in(cell, monkeypatch, ".volta/bin")
    write(cell.home, {".volta/bin/node": "#!/bin/sh\necho new\n"})
    renew(cell)
    assert cell.run("node").stdout == "new\n"
