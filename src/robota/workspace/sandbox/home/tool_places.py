"""Data: where tools keep programs, libraries and caches in a home directory; commands see these places, read-only.

Each row lists only parts without credentials. Where a tool keeps its credentials is in `credential_places`.
"""

from typing import Final

import msgspec

WHOLE: Final = (".",)


class ToolPlace(msgspec.Struct, frozen=True):
    """A directory of a tool: `variable` says where it is, else one of `defaults` below the home; `parts` are visible.

    Defaults may begin with `DATA/`, `CACHE/`, `STATE/` or `CONFIG/`, the base directories of the XDG specification.
    """

    source: str
    variable: str
    defaults: tuple[str, ...]
    parts: tuple[str, ...]


def _toolchain(name: str, variable: str, defaults: str, parts: str = ".") -> ToolPlace:
    return ToolPlace(f"toolchain of {name}", variable, tuple(defaults.split()), tuple(parts.split()))


def _cache(name: str, variable: str, defaults: str, parts: str = ".") -> ToolPlace:
    return ToolPlace(f"cache of {name}", variable, tuple(defaults.split()), tuple(parts.split()))


OF_PYTHON: Final = (
    _toolchain("pyenv", "PYENV_ROOT", ".pyenv"),
    _toolchain("conda", "", "miniconda3 anaconda3 miniforge3 mambaforge micromamba .miniconda3 .anaconda3 DATA/mamba"),
    _toolchain("conda", "MAMBA_ROOT_PREFIX", ""),
    _toolchain("conda", "CONDA_PREFIX", ""),
    _toolchain("conda", "", ".conda", "envs pkgs environments.txt"),
    _toolchain("uv", "UV_PYTHON_INSTALL_DIR", "DATA/uv/python"),
    _toolchain("uv", "UV_TOOL_DIR", "DATA/uv/tools"),
    _toolchain("pipx", "PIPX_HOME", "DATA/pipx .local/pipx"),
    _toolchain("poetry", "POETRY_HOME", "DATA/pypoetry .poetry"),
    _toolchain("rye", "RYE_HOME", ".rye", "shims py tools self uv pip-tools config.toml"),
    _toolchain("hatch", "", "DATA/hatch/env DATA/hatch/pythons"),
    _toolchain("pdm", "", "DATA/pdm"),
    _toolchain("virtualenvs", "WORKON_HOME", ".virtualenvs DATA/virtualenvs"),
    _toolchain("pixi", "PIXI_HOME", ".pixi", "bin envs manifests"),
    _toolchain("Python packages of the user", "PYTHONUSERBASE", ".local", "bin lib include"),
    _cache("pip", "PIP_CACHE_DIR", "CACHE/pip"),
    _cache("uv", "UV_CACHE_DIR", "CACHE/uv"),
    _cache("poetry", "POETRY_CACHE_DIR", "CACHE/pypoetry"),
    _cache("pdm", "", "CACHE/pdm CACHE/hatch"),
    _cache("conda", "RATTLER_CACHE_DIR", "CACHE/rattler"),
    _cache("pre-commit", "PRE_COMMIT_HOME", "CACHE/pre-commit"),
    _cache("Hugging Face", "HF_HOME", "CACHE/huggingface", "hub datasets modules assets xet"),
    _cache("PyTorch", "TORCH_HOME", "CACHE/torch"),
    _cache("machine learning", "", "nltk_data .keras/models .keras/datasets CACHE/kagglehub CACHE/whisper"),
)
OF_JAVASCRIPT: Final = (
    _toolchain("nvm", "NVM_DIR", ".nvm CONFIG/nvm"),
    _toolchain("fnm", "FNM_DIR", "DATA/fnm .fnm"),
    _toolchain("fnm", "", "STATE/fnm_multishells"),
    _toolchain("volta", "VOLTA_HOME", ".volta"),
    _toolchain("nodenv", "NODENV_ROOT", ".nodenv"),
    _toolchain("n", "N_PREFIX", "n", "n bin lib include share"),
    _toolchain("npm", "", ".npm-global .npm-packages .node_modules"),
    _toolchain("pnpm", "PNPM_HOME", "DATA/pnpm"),
    _toolchain("yarn", "", ".yarn", "bin berry releases"),
    _toolchain("yarn", "", "CONFIG/yarn", "global link"),
    _toolchain("deno", "DENO_INSTALL", ".deno", "bin"),
    _toolchain("bun", "BUN_INSTALL", ".bun", "bin install"),
    _cache("npm", "", ".npm", "_cacache _npx"),
    _cache("pnpm", "", ".pnpm-store CACHE/pnpm"),
    _cache("yarn", "YARN_CACHE_FOLDER", "CACHE/yarn"),
    _cache("deno", "DENO_DIR", "CACHE/deno"),
    _cache("corepack", "COREPACK_HOME", "CACHE/node"),
    _cache("Playwright", "PLAYWRIGHT_BROWSERS_PATH", "CACHE/ms-playwright"),
    _cache("Puppeteer", "PUPPETEER_CACHE_DIR", "CACHE/puppeteer"),
    _cache("Cypress", "CYPRESS_CACHE_FOLDER", "CACHE/Cypress"),
    _cache("npm packages", "", "CACHE/electron CACHE/node-gyp CACHE/prisma CACHE/typescript CACHE/esbuild"),
)
OF_COMPILED_LANGUAGES: Final = (
    _toolchain("cargo", "CARGO_HOME", ".cargo", "bin registry git"),
    _toolchain("rustup", "RUSTUP_HOME", ".rustup"),
    _toolchain("go", "GOPATH", "go", "bin pkg"),
    _toolchain("go", "GOROOT", ""),
    _toolchain("go", "GOMODCACHE", ""),
    _toolchain("go", "", "sdk"),
    _toolchain("goenv", "GOENV_ROOT", ".goenv"),
    _toolchain("ghcup", "", ".ghcup"),
    _toolchain("cabal", "CABAL_DIR", ".cabal", "bin packages store lib"),
    _toolchain("cabal", "", "STATE/cabal"),
    _toolchain("stack", "STACK_ROOT", ".stack"),
    _toolchain("opam", "OPAMROOT", ".opam"),
    _toolchain("dotnet", "DOTNET_ROOT", ".dotnet", "dotnet host sdk shared packs templates sdk-manifests tools store"),
    _toolchain("swift", "", ".swiftly DATA/swiftly"),
    _toolchain("zig", "", ".zvm"),
    _toolchain("elan", "ELAN_HOME", ".elan"),
    _toolchain("nim", "", ".choosenim"),
    _toolchain("nim", "NIMBLE_DIR", ".nimble", "bin pkgs pkgs2"),
    _toolchain("foundry", "FOUNDRY_DIR", ".foundry", "bin versions lib"),
    _cache("go", "GOCACHE", "CACHE/go-build"),
    _cache("NuGet", "NUGET_PACKAGES", ".nuget/packages"),
    _cache("ccache", "CCACHE_DIR", "CACHE/ccache .ccache"),
    _cache("sccache", "SCCACHE_DIR", "CACHE/sccache"),
    _cache("Conan", "CONAN_HOME", ".conan2", "p extensions profiles"),
    _cache("vcpkg", "", "CACHE/vcpkg"),
    _cache("Bazel", "", "CACHE/bazel CACHE/bazelisk"),
    _cache("compilers", "", "CACHE/zig CACHE/dune CACHE/cabal CACHE/golangci-lint CACHE/staticcheck"),
)
OF_THE_JVM: Final = (
    _toolchain("sdkman", "SDKMAN_DIR", ".sdkman"),
    _toolchain("jenv", "JENV_ROOT", ".jenv"),
    _toolchain("jabba", "JABBA_HOME", ".jabba"),
    _toolchain("Java", "", ".jdks"),
    _toolchain("Java", "JAVA_HOME", ""),
    _toolchain("coursier", "", "DATA/coursier"),
    _toolchain("Kotlin/Native", "KONAN_DATA_DIR", ".konan"),
    _toolchain("Android", "ANDROID_HOME", "Android/Sdk"),
    _toolchain("Android", "ANDROID_SDK_ROOT", ""),
    _cache("coursier", "COURSIER_CACHE", "CACHE/coursier"),
    _cache("Maven", "", ".m2", "repository wrapper"),
    _cache("Gradle", "GRADLE_USER_HOME", ".gradle", "caches wrapper jdks native"),
    _cache("Ivy", "", ".ivy2", "cache local"),
    _cache("sbt", "", ".sbt", "boot launchers"),
)
OF_OTHER_LANGUAGES: Final = (
    _toolchain("asdf", "ASDF_DATA_DIR", ".asdf"),
    _toolchain("asdf", "ASDF_DIR", ""),
    _toolchain("mise", "MISE_DATA_DIR", "DATA/mise DATA/rtx"),
    _toolchain("rbenv", "RBENV_ROOT", ".rbenv"),
    _toolchain("rvm", "rvm_path", ".rvm"),
    _toolchain("chruby", "", ".rubies"),
    _toolchain("RubyGems", "GEM_HOME", "", "bin gems specifications extensions build_info doc cache plugins"),
    _toolchain("RubyGems", "", ".gem/ruby DATA/gem/ruby"),
    _toolchain("Bundler", "", ".bundle", "cache plugin"),
    _toolchain("composer", "COMPOSER_HOME", ".composer CONFIG/composer", "vendor"),
    _toolchain("phpenv", "", ".phpenv .phpbrew"),
    _toolchain("Perl", "", "perl5 .plenv"),
    _toolchain("juliaup", "", ".juliaup"),
    _toolchain(
        "Julia", "", ".julia", "juliaup bin packages artifacts compiled registries environments scratchspaces conda"
    ),
    _toolchain("R", "R_LIBS_USER", "R .local/lib/R"),
    _toolchain("Lua", "", ".luarocks", "bin lib share"),
    _toolchain("Elixir", "MIX_HOME", ".mix"),
    _toolchain("Elixir", "HEX_HOME", ".hex", "packages cache.ets"),
    _toolchain("Erlang", "", ".kerl .kiex"),
    _toolchain("Dart", "PUB_CACHE", ".pub-cache", "bin hosted git global_packages"),
    _toolchain("Flutter", "FLUTTER_ROOT", ""),
    _toolchain("fvm", "", "fvm .fvm"),
    _toolchain("nix", "", ".nix-profile .nix-defexpr STATE/nix/profiles STATE/nix/profile"),
    _toolchain("proto", "PROTO_HOME", ".proto"),
    _toolchain("aqua", "AQUA_ROOT_DIR", "DATA/aquaproj-aqua"),
    _toolchain("Terraform", "", ".terraform.d", "plugins plugin-cache"),
    _toolchain("Terraform", "", ".tfenv"),
    _toolchain("PlatformIO", "PLATFORMIO_CORE_DIR", ".platformio", "packages platforms penv"),
    _toolchain("fonts", "", ".fonts DATA/fonts"),
    _cache("composer", "COMPOSER_CACHE_DIR", "CACHE/composer"),
    _cache("rebar3", "", "CACHE/rebar3"),
    _cache("programs", "", "CACHE/tree-sitter CACHE/starship CACHE/bat CACHE/fontconfig"),
)
TOOL_PLACES: Final = (*OF_PYTHON, *OF_JAVASCRIPT, *OF_COMPILED_LANGUAGES, *OF_THE_JVM, *OF_OTHER_LANGUAGES)
# Files that determine which version or style programs use. A command sees a copy, if nothing in it looks like a
# credential.
CONFIGURATION_FILES: Final = tuple(
    ".tool-versions .asdfrc .python-version .node-version .nvmrc .ruby-version .java-version .condarc .mambarc "
    ".pip/pip.conf CONFIG/pip/pip.conf CONFIG/uv/uv.toml CONFIG/go/env CONFIG/mise/config.toml CONFIG/git/ignore "
    "CONFIG/git/attributes "
    ".cargo/config.toml .cargo/config .yarnrc .gemrc .editorconfig .clang-format .clang-tidy .rustfmt.toml .bazelrc "
    ".m2/toolchains.xml CONFIG/rustfmt/rustfmt.toml CONFIG/ruff/ruff.toml CONFIG/yamllint/config .pylintrc .prettierrc "
    ".sqlfluff .shellcheckrc".split()
)
