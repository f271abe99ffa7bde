"""Data: names of files that other programs execute or obey later.

One table for policy, which asks before such a file is written, and for the sandbox, which protects them from commands.
Files that git's configuration names (hooks, includes, filters) are found by asking git: see
`workspace/git/configured_files.py`.
"""

from enum import StrEnum
from typing import Final

import msgspec


class Guard(StrEnum):
    """How a name is protected. Each level includes the one before."""

    ASK = "ask"  # writing it needs approval
    READ_ONLY = "read_only"  # if it exists, sandboxed commands cannot change it
    KEPT_FREE = "kept_free"  # nor can they create it at the top of the workspace


class ProtectedName(msgspec.Struct, frozen=True):
    """A name or `.gitignore` pattern, and which program obeys the file."""

    pattern: str
    obeyed_by: str
    guard: Guard


def _guarded_names(guard: Guard, obeyed_by: str, patterns: str) -> tuple[ProtectedName, ...]:
    return tuple(ProtectedName(pattern, obeyed_by, guard) for pattern in patterns.split())


# Obeyed as soon as the directory is inspected, entered or opened, without an explicit command.
AT_ONCE: Final = (
    *_guarded_names(Guard.KEPT_FREE, "git runs hooks, filters, monitors and todo lists from there", ".git"),
    *_guarded_names(Guard.KEPT_FREE, "git fetches from where it says and updates as it says", ".gitmodules"),
    *_guarded_names(Guard.KEPT_FREE, "Mercurial runs the hooks and extensions of its hgrc", ".hg"),
    *_guarded_names(Guard.KEPT_FREE, "Jujutsu runs the tools its configuration names", ".jj"),
    *_guarded_names(Guard.KEPT_FREE, "git runs its scripts as hooks, once husky is set up", ".husky"),
    *_guarded_names(Guard.KEPT_FREE, "Robota loads settings, rules, modes and logs from there", ".robota .roomodes"),
    *_guarded_names(Guard.KEPT_FREE, "Robota hides what it lists from the model", ".robotaignore"),
    *_guarded_names(Guard.KEPT_FREE, "Robota takes intents from there", ".orchestration"),
    *_guarded_names(Guard.KEPT_FREE, "coding agents run its hooks and servers", ".claude .cursor .mcp.json"),
    *_guarded_names(Guard.KEPT_FREE, "agents copy the ignored files it lists into worktrees", ".worktreeinclude"),
    *_guarded_names(Guard.KEPT_FREE, "editors run its tasks and the programs its settings name", ".vscode .idea .zed"),
    *_guarded_names(Guard.KEPT_FREE, "Vim and Neovim run it when started there with exrc", ".exrc .vimrc .nvim.lua"),
    *_guarded_names(Guard.KEPT_FREE, "direnv runs it when the directory is entered", ".envrc"),
)
OF_GIT: Final = (
    *_guarded_names(Guard.READ_ONLY, "git chooses filters, diff and merge programs by it", ".gitattributes"),
    *_guarded_names(Guard.READ_ONLY, "git obeys it where it is included or lies in a home", ".gitconfig .config/git"),
    *_guarded_names(Guard.READ_ONLY, "git runs hooks from there, where core.hooksPath says so", ".githooks .git-hooks"),
    *_guarded_names(Guard.READ_ONLY, "Mercurial loads it where it lies in a home", ".hgrc"),
    *_guarded_names(
        Guard.READ_ONLY, "Sapling, Darcs and Pijul run the hooks its configuration names", ".sl _darcs .pijul"
    ),
    *_guarded_names(Guard.READ_ONLY, "pre-commit runs what it lists at every commit", ".pre-commit-config.y*ml"),
    *_guarded_names(
        Guard.READ_ONLY,
        "Lefthook runs what it lists at every commit",
        "lefthook*.y*ml lefthook*.toml lefthook*.json .lefthook*.y*ml .lefthook*.toml .lefthook*.json .lefthook "
        ".lefthook-local",
    ),
    *_guarded_names(
        Guard.READ_ONLY, "Overcommit, CaptainHook and GrumPHP run what it lists", ".overcommit.yml captainhook.json"
    ),
    *_guarded_names(Guard.READ_ONLY, "GrumPHP runs what it lists at every commit", "grumphp.y*ml"),
    *_guarded_names(
        Guard.READ_ONLY, "hooks of JavaScript projects run what it says", ".lintstagedrc* lint-staged.config.*"
    ),
    *_guarded_names(
        Guard.READ_ONLY, "hooks of JavaScript projects run what it says", ".simple-git-hooks.* commitlint.config.*"
    ),
)
OF_AGENTS: Final = (
    *_guarded_names(
        Guard.READ_ONLY,
        "coding agents follow it as instructions of the user",
        "AGENTS.md AGENTS.override.md AGENTS.local.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md "
        ".cursorrules .windsurfrules .clinerules .roorules* .goosehints .github/copilot-instructions.md "
        ".github/instructions .github/prompts .github/chatmodes .github/agents .kilocoderules* codex.md",
    ),
    *_guarded_names(
        Guard.READ_ONLY,
        "coding agents load settings, hooks, commands or servers from there",
        ".roo .rooignore .claude.json .claude-plugin .robota-plugin .codex .gemini .agents .windsurf .continue "
        ".amazonq .kiro .opencode opencode.json opencode.jsonc .crush .crush.json crush.json .qwen .aider.conf.yml "
        ".aiderignore .junie .trae .augment .factory .goose .kilocode .kilocodemodes .openhands .github/hooks",
    ),
)
OF_EDITORS: Final = (
    *_guarded_names(
        Guard.READ_ONLY,
        "editors run programs it names when the project is opened",
        "*.code-workspace .devcontainer .devcontainer.json .fleet .helix .nova .vs .gitpod.yml .idx .replit "
        "*.sublime-project .dir-locals.el .dir-locals-2.el .nvimrc .lvimrc .local.vimrc .vimspector.json "
        ".ycm_extra_conf.py pyrightconfig.json .vim/coc-settings.json",
    ),
    *_guarded_names(
        Guard.READ_ONLY,
        "debuggers and interpreters run it when they start in the directory",
        ".gdbinit .lldbinit .pdbrc .pythonrc .pythonstartup .irbrc .pryrc .byebugrc .ghci .ocamlinit .utoprc .Rprofile "
        ".Renviron .iex.exs .octaverc .erlang",
    ),
)
OF_SHELLS: Final = (
    *_guarded_names(
        Guard.READ_ONLY,
        "version managers run hooks, tasks or programs it names when the directory is entered",
        ".tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .config/mise .config/mise.toml .mise "
        "mise/config.toml .rtx.toml devbox.json .autoenv .autoenv.zsh",
    ),
    *_guarded_names(
        Guard.READ_ONLY,
        "shells run it when they start in a home",
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin "
        ".zlogout .kshrc .cshrc .tcshrc .config/fish .inputrc .xprofile .xinitrc .tmux.conf .screenrc .tmuxinator.yml",
    ),
)
# Obeyed only when that tool is run; commands that use the tool may need to write them.
OF_TOOLS: Final = (
    *_guarded_names(
        Guard.ASK,
        "package managers run scripts and plug-ins, or fetch packages, as it says",
        ".npmrc .yarnrc .yarnrc.yml .yarn .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .cargo .mvn "
        "gradle-wrapper.properties .bazelrc .bazeliskrc tools/bazel .buckconfig .bundle .gemrc .condarc pip.conf "
        "uv.toml poetry.toml rust-toolchain rust-toolchain.toml .direnv",
    ),
    *_guarded_names(Guard.ASK, "programs that fetch or search take options from it", ".ripgreprc .curlrc .wgetrc"),
    *_guarded_names(Guard.ASK, "holds the passwords that programs send", ".pypirc .netrc"),
    *_guarded_names(
        Guard.ASK, "Python runs it without being told to", "conftest.py sitecustomize.py usercustomize.py *.pth"
    ),
    *_guarded_names(Guard.ASK, "shells find it before the programs of the system", "*venv/bin node_modules/.bin"),
    *_guarded_names(
        Guard.ASK,
        "machines that build the project run it with their secrets",
        ".github/workflows .github/actions .gitlab-ci.yml .circleci .travis.yml Jenkinsfile .drone.yml "
        "azure-pipelines.yml .buildkite .woodpecker .woodpecker.yml bitbucket-pipelines.yml .forgejo .gitea",
    ),
)
PROTECTED_NAMES: Final = (*AT_ONCE, *OF_GIT, *OF_AGENTS, *OF_EDITORS, *OF_SHELLS, *OF_TOOLS)


def names_guarded_by(guard: Guard) -> tuple[str, ...]:
    """The patterns of the names with at least this protection."""
    order = list(Guard)
    return tuple(name.pattern for name in PROTECTED_NAMES if order.index(name.guard) >= order.index(guard))
