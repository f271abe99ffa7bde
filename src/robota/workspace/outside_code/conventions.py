"""Data: what well-known programs run or obey in the directory they start in, without being told by their arguments."""

import re
from typing import Final

import msgspec

PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*")
INTERPRETERS: Final = frozenset(
    "sh bash dash zsh ksh fish ash busybox node nodejs deno bun tsx ts-node ruby perl php lua luajit Rscript osascript "
    "pwsh java groovy elixir guile racket sbcl awk gawk mawk run-parts source .".split()
)
# Words after which the next one is a directory to start in.
ENTERING: Final = frozenset("cd pushd -C --directory --chdir --cwd --prefix --dir --project".split())
# Words after which the next one is a package, or a directory with code.
PACKAGES: Final = frozenset("--from --with --with-editable --editable -e -I --rulesdir --plugin-dir".split())
# Options of interpreters after which the next word is code to load, and those with another value.
LOADING: Final = frozenset("-r --require --import --loader --experimental-loader --rcfile --init-file".split())
TAKING_A_VALUE: Final = LOADING | frozenset("-X -W -I -o -O --check-hash-based-pycs".split())
# Programs that only start what comes after their own words.
STARTERS: Final = frozenset(
    "env nice nohup timeout time stdbuf setsid ionice exec command builtin sudo doas xargs flock watch chrt taskset "
    "eval dotenv if then else elif while until do ! { }".split()
)
# Programs that run a package or another program, by the words after them.
TAKING_PACKAGES: Final = frozenset(
    "npx pnpx bunx npm pnpm yarn bun corepack uv uvx pipx poetry pipenv hatch pdm rye direnv mise asdf".split()
)


class Convention(msgspec.Struct, frozen=True, kw_only=True):
    """`obeys` are patterns of files there. `everywhere`: it runs code of the whole workspace."""

    obeys: tuple[str, ...] = ()
    node_modules: bool = False
    virtual_environment: bool = False
    everywhere: bool = False


def _obeys(patterns: str) -> Convention:
    return Convention(obeys=tuple(patterns.split()))


def _of_node(patterns: str = "") -> Convention:
    own = "package.json .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs .pnpmfile.mjs bunfig.toml"
    return Convention(obeys=(*own.split(), *patterns.split()), node_modules=True)


def _each(names: str, convention: Convention) -> dict[str, Convention]:
    return dict.fromkeys(names.split(), convention)


CONVENTIONS: Final[dict[str, Convention]] = {
    **_each("make gmake", _obeys("GNUmakefile makefile Makefile *.mk")),
    **_each("just task", _obeys("justfile Justfile .justfile Taskfile.yml Taskfile.yaml")),
    **_each("npm npx pnpm pnpx yarn bun bunx corepack lint-staged", _of_node()),
    "eslint": _of_node("eslint.config.* .eslintrc*"),
    "prettier": _of_node("prettier.config.* .prettierrc*"),
    "stylelint": _of_node("stylelint.config.* .stylelintrc*"),
    **_each(
        "uv uvx poetry pipenv hatch pdm rye",
        Convention(obeys=("pyproject.toml", "uv.toml", "setup.py", "poetry.toml", "Pipfile"), virtual_environment=True),
    ),
    "mypy": _obeys("mypy.ini .mypy.ini pyproject.toml setup.cfg"),
    "pylint": _obeys("pylintrc .pylintrc pyproject.toml setup.cfg"),
    "flake8": _obeys("setup.cfg tox.ini .flake8"),
    **_each("pre-commit pre_commit", _obeys(".pre-commit-config.yaml .pre-commit-hooks.yaml")),
    "rubocop": _obeys(".rubocop*.yml Gemfile"),
    **_each(
        "pytest py.test tox nox unittest cargo go gradle gradlew mvn mvnw ant sbt dotnet msbuild cmake ctest ninja "
        "meson bazel bazelisk buck2 rake rails bundle rspec composer phpunit mix rebar3 dune stack cabal swift "
        "xcodebuild jest vitest mocha ava karma cypress playwright webpack vite rollup turbo nx lerna gulp grunt "
        "ansible ansible-playbook terraform docker docker-compose podman vagrant scons waf pants earthly",
        Convention(everywhere=True),
    ),
}
