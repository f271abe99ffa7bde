"""Files that other programs execute or obey can be neither changed nor created from inside the sandbox."""

import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from robota.config.trust import sources
from robota.contracts.verdict import Decision
from robota.extensions.mcp import configured_servers
from robota.extensions.plugins.manifest import MANIFEST_FILES
from robota.extensions.plugins.marketplace import MARKETPLACE_FILES
from robota.knowledge.instructions import paths
from robota.workspace.files.protected_names import PROTECTED_NAMES, Guard, names_guarded_by
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from tests.policy.judging import judge, writing
from tests.workspace.sandbox.cells import Cell

# By name, so that one that is dropped from the table is missed; the first are those that docs/security.md promises.
KEPT_FREE = """
    .git .gitmodules .hg .jj .husky .robota .robotaignore .roomodes .orchestration .claude .cursor .mcp.json
    .worktreeinclude .vscode .idea .zed .exrc .vimrc .nvim.lua .envrc
""".split()
READ_ONLY = """
    .gitattributes .gitconfig .githooks .hgrc .pre-commit-config.yaml lefthook.yml lefthook-local.yaml .lefthook.yml
    lefthook.toml .overcommit.yml captainhook.json grumphp.yml .lintstagedrc.json lint-staged.config.js
    commitlint.config.js AGENTS.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md .cursorrules .windsurfrules .clinerules
    .roorules-code .github/copilot-instructions.md .roo .rooignore .codex .gemini .aider.conf.yml opencode.json
    .crush.json x.code-workspace .devcontainer .devcontainer.json .helix .gitpod.yml x.sublime-project .dir-locals.el
    .lvimrc .gdbinit .lldbinit .pdbrc .irbrc .pryrc .Rprofile .tool-versions mise.toml .mise.toml .config/mise .autoenv
    .bashrc .zshrc .zshenv .profile .config/fish .inputrc .tmux.conf
    .config/git .git-hooks lefthookx.json .lefthookx.toml .lefthookx.json .lefthook .lefthook-local
    .simple-git-hooks.x AGENTS.override.md AGENTS.local.md QWEN.md .goosehints .github/instructions .github/prompts
    .github/chatmodes .github/agents .claude.json .claude-plugin .robota-plugin .agents .windsurf .continue .amazonq
    .kiro .opencode opencode.jsonc .crush crush.json .qwen .aiderignore .junie .trae .augment .factory .goose .fleet
    .nova .vs .idx .replit .dir-locals-2.el .nvimrc .local.vimrc .vimspector.json .ycm_extra_conf.py
    pyrightconfig.json .pythonrc .pythonstartup .byebugrc .ghci .ocamlinit .utoprc .Renviron .iex.exs mise.x.toml
    .octaverc .erlang .mise mise/config.toml .vim/coc-settings.json .kilocode .kilocodemodes .kilocoderulesx .openhands
    .github/hooks codex.md .sl _darcs .pijul
    .mise.x.toml .config/mise.toml .rtx.toml devbox.json .autoenv.zsh .bash_profile .bash_login .bash_logout
    .bash_aliases .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .xprofile .xinitrc .screenrc .tmuxinator.yml
""".split()
ASKED = """
    .npmrc .yarnrc.yml .yarn .pnp.cjs .pnpmfile.cjs bunfig.toml .cargo .mvn gradle-wrapper.properties .bazelrc .bundle
    .gemrc pip.conf uv.toml rust-toolchain.toml .ripgreprc .curlrc .wgetrc .netrc conftest.py sitecustomize.py x.pth
    .venv/bin/python node_modules/.bin/eslint .github/workflows/ci.yml .gitlab-ci.yml .circleci Jenkinsfile
    .hg/hgrc .jj/repo/config.toml sub/AGENTS.md .git/rebase-merge/git-rebase-todo .git/info/attributes
    .git/hooks/pre-commit HEAD docs/HEAD docs/head
    .yarnrc .pnp.loader.mjs .pnpmfile.mjs .bazeliskrc tools/bazel .buckconfig .condarc poetry.toml rust-toolchain
    .direnv .pypirc usercustomize.py xvenv/bin node_modules/.bin .github/workflows .github/actions .travis.yml
    .drone.yml azure-pipelines.yml .buildkite .woodpecker .woodpecker.yml bitbucket-pipelines.yml .forgejo .gitea
""".split()


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    subprocess.run(["rm", "-rf", ".git"], cwd=cell.root, check=True)
    git(cell, "init", "-q")
    cell.renew()
    return cell


def git(cell: Cell, *words: str) -> None:
    subprocess.run(["git", *words], cwd=cell.root, check=True, capture_output=True)


def example(pattern: str) -> str:
    return pattern.replace("*", "x")


def test_every_name_says_who_obeys_it_and_stands_there_once() -> None:
    patterns = [name.pattern for name in PROTECTED_NAMES]
    assert len(patterns) == len(set(patterns))
    assert all(len(name.obeyed_by.split()) > 3 for name in PROTECTED_NAMES)


def test_no_name_was_dropped_from_the_table_or_guarded_less() -> None:
    guarded = {guard: names_guarded_by(guard) for guard in Guard}
    assert set(KEPT_FREE) == set(guarded[Guard.KEPT_FREE])
    for name in READ_ONLY:
        assert any(fnmatchcase(name, pattern) for pattern in guarded[Guard.READ_ONLY]), name


def test_every_name_of_the_table_is_held_here_by_name() -> None:
    held = [part for name in (*KEPT_FREE, *READ_ONLY, *ASKED) for part in (name, name.rpartition("/")[2])]
    assert [pattern for pattern in names_guarded_by(Guard.ASK) if not any(fnmatchcase(n, pattern) for n in held)] == []


@pytest.mark.parametrize("path", sorted({*map(example, names_guarded_by(Guard.ASK)), *KEPT_FREE, *READ_ONLY, *ASKED}))
def test_accept_edits_asks_before_such_a_file_is_written(path: str) -> None:
    assert judge(writing(path), "acceptEdits").decision is Decision.ASK


LOADED_BY_ROBOTA = sorted(
    {
        *(
            *paths.INSTRUCTION_FILES,
            *(f"{name}/x.md" for name in paths.RULE_DIRECTORIES),
            paths.MODE_RULE_DIRECTORY.format(mode="code") + "/x.md",
        ),
        *(*sources.FILES, *(f"{name}/x/SKILL.md" for name in sources.DIRECTORIES), *configured_servers.FILES),
        *(*MARKETPLACE_FILES, *MANIFEST_FILES),
    }
)


@pytest.mark.parametrize("path", LOADED_BY_ROBOTA)
def test_accept_edits_asks_before_anything_is_written_that_robota_itself_would_load(path: str) -> None:
    assert judge(writing(path), "acceptEdits").decision is Decision.ASK
    assert judge(writing(f"src/{path}"), "acceptEdits").decision is Decision.ASK


def test_names_that_are_obeyed_at_once_cannot_be_made(strong: Cell) -> None:
    names = KEPT_FREE
    before = strong.names()
    strong.run("; ".join(f"echo x > {name}; mkdir {name}/x; ln -s /tmp {name}; mv file {name}" for name in names))
    assert strong.names() == before


EXISTING = sorted({*map(example, names_guarded_by(Guard.READ_ONLY)), *KEPT_FREE, *READ_ONLY} - {".git"})
NESTED = ["a/b/AGENTS.md", "a/.vscode", "a/lefthook.yml", "a/.gitattributes", "a/.mise.toml", "a/b/c/.envrc"]


@pytest.mark.parametrize("names", [EXISTING[:50], EXISTING[50:100], EXISTING[100:150], EXISTING[150:], NESTED])
def test_what_exists_cannot_be_changed(strong: Cell, names: list[str]) -> None:
    for name in names:
        (strong.root / name).parent.mkdir(parents=True, exist_ok=True)
        (strong.root / name).write_text("kept")
    strong.renew()
    tries = "echo evil > {0}; rm {0}; mv {0} gone; echo evil > other; mv other {0}"
    strong.run("; ".join(tries.format(name) for name in names))
    for name in names:
        assert (strong.root / name).read_text() == "kept", name


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("setting", ["core.hooksPath", "include.path", "filter.x.clean", "core.fsmonitor"])
def test_what_git_is_told_to_obey_is_found_by_asking_git(strong: Cell, setting: str, exists: bool) -> None:
    value = {"core.hooksPath": "tools/hooks", "include.path": "../tools/more"}.get(setting, "tools/run.sh --fast")
    git(strong, "config", setting, value)
    place = strong.root / {"core.hooksPath": "tools/hooks", "include.path": "tools/more"}.get(setting, "tools/run.sh")
    target = place / "pre-commit" if setting == "core.hooksPath" else place
    if exists:
        target.parent.mkdir(parents=True)
        target.write_text("kept")
    strong.renew()
    path = target.relative_to(strong.root)
    strong.run(f"rm -rf tools; mkdir -p {path.parent}; echo evil > {path}; mv {path.parent} x; echo evil > {path}")
    assert not target.exists() or target.read_text() == "kept"
    assert strong.run("echo works > file && cat file").stdout == "works\n"


@pytest.mark.parametrize("value", [".", "link"])
def test_hooks_that_cannot_be_protected_close_the_workspace(strong: Cell, value: str) -> None:
    (strong.root / "real").mkdir()
    (strong.root / "link").symlink_to("real")
    git(strong, "config", "core.hooksPath", value)
    strong.renew()
    strong.run("echo evil > pre-commit; rm link; mkdir link; echo evil > link/pre-commit")
    assert not (strong.root / "pre-commit").exists() and (strong.root / "link").is_symlink()
    assert detect_backend(strong.sandbox.border).reason


def test_a_value_of_the_configuration_closes_nothing_else(strong: Cell) -> None:
    for name in ("src", "main"):
        (strong.root / name).mkdir()
    git(strong, "config", "user.name", "src")
    git(strong, "config", "alias.lg", "log main src/x --format=%s")
    strong.renew()
    assert strong.run("echo x > src/x && echo x > main/x && mv src other").returncode == 0


def test_what_git_obeys_cannot_be_created_after_its_directory_was_removed(strong: Cell) -> None:
    """The search for what git obeys runs once, and the user, or a checkout, may remove a directory later."""
    git(strong, "config", "core.hooksPath", "tools/hooks")
    (strong.root / "tools" / "hooks").mkdir(parents=True)
    strong.renew()
    shutil.rmtree(strong.root / "tools")
    strong.run("mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit")
    assert not (strong.root / "tools").exists()
