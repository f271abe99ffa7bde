"""Data: what well-known programs run or obey in the directory they start in, without an argument that names it."""

import re
from typing import Final

import msgspec

PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*")
INTERPRETERS: Final = frozenset(
    "sh bash dash zsh ksh fish ash busybox node nodejs deno bun tsx ts-node ruby perl php lua luajit Rscript osascript "
    "pwsh java groovy elixir guile racket sbcl awk gawk mawk run-parts source .".split()
)
# Options followed by a directory to start in.
ENTERING: Final = frozenset("cd pushd -C --directory --chdir --cwd --prefix --dir --project -w --workspace".split())
# Options followed by a package, or a directory with code.
PACKAGES: Final = frozenset("--from --with --with-editable --editable -e -I --rulesdir --plugin-dir".split())
# Options of interpreters that are followed by code to load, and options with another value.
LOADING: Final = frozenset(
    "-r --require --import --loader --experimental-loader --rcfile --init-file include -include sinclude".split()
)
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


def _all_with(names: str, convention: Convention) -> dict[str, Convention]:
    return dict.fromkeys(names.split(), convention)


CONVENTIONS: Final[dict[str, Convention]] = {
    **_all_with("make gmake", _obeys("GNUmakefile makefile Makefile *.mk")),
    **_all_with("just task", _obeys("justfile Justfile .justfile Taskfile.yml Taskfile.yaml")),
    **_all_with("npm npx pnpm pnpx yarn bun bunx corepack lint-staged", _of_node()),
    **_all_with("eslint eslint_d xo", _of_node("eslint.config.* .eslintrc* xo.config.* .xo-config*")),
    **_all_with("prettier prettierd prettier_d_slim", _of_node("prettier.config.* .prettierrc*")),
    "stylelint": _of_node("stylelint.config.* .stylelintrc*"),
    **_all_with("markdownlint markdownlint-cli2", _of_node(".markdownlint*")),
    "commitlint": _of_node("commitlint.config.* .commitlintrc*"),
    "babel": _of_node("babel.config.* .babelrc*"),
    **_all_with("tailwindcss postcss", _of_node("tailwind.config.* postcss.config.* .postcssrc*")),
    **_all_with("tsx ts-node tsc", _of_node("tsconfig*.json")),
    "deno": _of_node("deno.json deno.jsonc import_map.json"),
    **_all_with(
        "coverage bandit isort yapf",
        _obeys(".coveragerc .bandit .isort.cfg .style.yapf pyproject.toml setup.cfg tox.ini"),
    ),
    **_all_with("hg chg", _obeys(".hg/hgrc .hg/hgrc-not-shared")),
    "luacheck": _obeys(".luacheckrc"),
    **_all_with(
        "php-cs-fixer phpstan psalm rector pint",
        _obeys(".php-cs-fixer* phpstan*.neon* psalm.xml* rector.php pint.json"),
    ),
    **_all_with(
        "uv uvx poetry pipenv hatch pdm rye",
        Convention(obeys=("pyproject.toml", "uv.toml", "setup.py", "poetry.toml", "Pipfile"), virtual_environment=True),
    ),
    "mypy": _obeys("mypy.ini .mypy.ini pyproject.toml setup.cfg"),
    "pylint": _obeys("pylintrc .pylintrc pyproject.toml setup.cfg"),
    "flake8": _obeys("setup.cfg tox.ini .flake8"),
    **_all_with("pre-commit pre_commit", _obeys(".pre-commit-config.yaml .pre-commit-hooks.yaml")),
    "rubocop": _obeys(".rubocop*.yml Gemfile"),
    **_all_with(
        "pytest py.test tox nox unittest cargo go gradle gradlew mvn mvnw ant sbt dotnet msbuild cmake ctest ninja "
        "meson bazel bazelisk buck2 rake rails bundle rspec composer phpunit mix rebar3 dune stack cabal swift "
        "xcodebuild jest vitest mocha ava karma cypress playwright webpack vite rollup turbo nx lerna gulp grunt "
        "ansible ansible-playbook ansible-lint inv invoke fab doit snakemake sphinx-build mkdocs django-admin "
        "alembic flask celery gunicorn uvicorn next nuxt astro ng expo tsup knip nyc c8 zig nix nix-shell "
        "nix-build devenv helm skaffold tilt standardrb brakeman credo perlcritic terraform docker docker-compose "
        "podman vagrant scons waf pants earthly",
        Convention(everywhere=True),
    ),
}
