"""Files that steer tools, run code by themselves or hold secrets: touching them is always worth a question."""

import posixpath
import re
import unicodedata
from functools import cache
from typing import Final

from robota.policy.rules.path_match import matches_pattern

SHORT_NAME: Final = re.compile(r"([^~./]{3,6})~[0-9]+(?:\..*)?")
# Written to, these run code, change what an agent may do, or change what other tools do.
STEERING: Final = tuple(
    """
    .git .gitmodules .gitattributes .gitconfig .config/git .husky .pre-commit-config.yaml lefthook.yml .lefthook
    .robota .robotaignore .orchestration
    .roo .roomodes .rooignore .roorules .clinerules .claude .claude.json .cursor .codex .gemini
    .agents .windsurf .continue .amazonq .kiro .zed .opencode .crush .qwen
    .mcp.json .aider.conf.yml opencode.json .vscode .idea .devcontainer *.code-workspace
    .envrc .direnv .tool-versions mise.toml .bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile
    .zlogin .bash_logout .bash_aliases
    .npmrc .yarnrc .yarnrc.yml .yarn .pnp.cjs .pnpmfile.cjs bunfig.toml .cargo .mvn gradle-wrapper.properties .bazelrc
    .gdbinit .lldbinit .vimrc .exrc .nvimrc .dir-locals.el .inputrc .curlrc .wgetrc .Rprofile .bundle
    .ripgreprc .pypirc .netrc conftest.py sitecustomize.py usercustomize.py pyrightconfig.json
    *.pth rust-toolchain rust-toolchain.toml *venv/bin node_modules/.bin
    .github/workflows .github/actions .gitlab-ci.yml .circleci .travis.yml Jenkinsfile
    """.split()
)
STEERING_DOTS: Final = tuple(pattern for pattern in STEERING if pattern.startswith("."))
# Secrets of the project: neither read nor written without a question.
SECRETS: Final = tuple(
    ".env .env.* .envrc .netrc .pypirc .npmrc *.pem *.key *.p12 *.pfx *.kdbx *.jks *.keystore id_rsa* id_ed25519* "
    "id_ecdsa* .git-credentials .htpasswd secrets.yaml secrets.yml secrets.json credentials.json".split()
)
NO_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
# Where credentials of a person live; no command of an agent has business there.
CREDENTIAL_STORES: Final = tuple(
    ".ssh .aws .gnupg .kube .docker/config.json .config/gh .config/gcloud .azure .password-store .local/share/keyrings "
    ".git-credentials .netrc .pgpass".split()
)


def steering_pattern(place: str) -> str | None:
    """The pattern of the protected path that this one is or lies in."""
    return _first_match(place, STEERING) or secret_pattern(place)


def steering_dot_pattern(place: str) -> str | None:
    """The same for words of commands, where a name that does not begin with a dot is too often just a word."""
    return _first_match(place, STEERING_DOTS) or secret_pattern(place)


def secret_pattern(place: str) -> str | None:
    if _first_match(place, NO_SECRETS) is not None:
        return None
    return _first_match(place, SECRETS)


def credential_store(location: str) -> str | None:
    """The store of credentials that an absolute path leads into."""
    return _first_match(location.lstrip("/"), CREDENTIAL_STORES)


def hides_what_it_is(path: str, place: str) -> bool:
    """Whether a protected path is written in a way that hides it: `.GIT`, `.git.`, `a/../.git`."""
    if posixpath.normpath(path) != path or _loosely(place) != place:
        return True
    return not any(_matches(place, pattern, ignore_case=False) for pattern in (*STEERING, *SECRETS))


def _first_match(place: str, patterns: tuple[str, ...]) -> str | None:
    loose = _loosely(place).casefold()
    names, others = _sorted_out(patterns)
    plain = next((names[name] for name in loose.split("/") if name in names), None)
    if plain is None and "~" in loose:
        plain = next((pattern for part in loose.split("/") if (pattern := _in_short(part, names))), None)
    return plain or next((pattern for pattern in others if _matches(loose, pattern, ignore_case=True)), None)


@cache
def _sorted_out(patterns: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Those that are just a name, which are found at once, and the others."""
    names = {pattern.casefold(): pattern for pattern in patterns if not set(pattern) & set("*?/")}
    return names, tuple(pattern for pattern in patterns if pattern.casefold() not in names)


def _matches(place: str, pattern: str, *, ignore_case: bool) -> bool:
    anywhere = f"**/{pattern}" if "/" in pattern else pattern
    return matches_pattern(place, anywhere, ignore_case=ignore_case)


def _loosely(place: str) -> str:
    """Some file systems drop dots and spaces at the end of a name, so `.git./config` is `.git/config` there.

    Others drop characters that cannot be seen, or take what follows a colon for a part of the same file.
    """
    if not place.isascii():
        place = "".join(character for character in place if unicodedata.category(character) != "Cf")
    return "/".join((part.partition(":")[0] or part).rstrip(". ") or part for part in place.split("/"))


def _in_short(name: str, protected: dict[str, str]) -> str | None:
    """The pattern of the name that Windows disks also know as this one: `git~1` is `.git` there."""
    found = SHORT_NAME.fullmatch(name)
    if found is None:
        return None
    return next((protected[each] for each in protected if each.replace(".", "").startswith(found[1])), None)
