"""How this copy of Robota was installed, and so which command updates it."""

import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from robota.cli.update.versions import PACKAGE

# `scripts/install` leaves this file in the environments that it makes.
MADE_BY_SCRIPT: Final = "made-by-scripts-install"


class _Directory(msgspec.Struct, frozen=True):
    editable: bool = False


class _Repository(msgspec.Struct, frozen=True):
    vcs: str


class _DirectUrl(msgspec.Struct, frozen=True):
    """`direct_url.json`: where pip, pipx or uv took the package from, if that was no index."""

    url: str = ""
    dir_info: _Directory | None = None
    vcs_info: _Repository | None = None

    @property
    def directory(self) -> Path | None:
        """The source directory that it was installed from."""
        return None if self.dir_info is None else Path(unquote(urlsplit(self.url).path))


def source_directory() -> Path | None:
    """The source directory that Robota was installed from; None if it came from elsewhere."""
    return _origin().directory


def update_command(prefix: Path = Path(sys.prefix), python: str = sys.executable) -> str:
    """The command that updates the installation in `prefix`, as it would be typed in a shell."""
    origin = _origin()
    if origin.directory is None:
        return _from_elsewhere(origin, prefix, python)
    directory = shlex.quote(str(origin.directory))
    pull = f"git -C {directory} pull"
    if origin.dir_info is not None and origin.dir_info.editable:
        return pull
    return f"{pull} && {_from_directory(directory, prefix, python)}"


def _from_directory(directory: str, prefix: Path, python: str) -> str:
    """Install a source directory again."""
    if (prefix / MADE_BY_SCRIPT).exists():
        return f"{directory}/scripts/install"
    if _is_of_pipx(prefix):
        return f"pipx install --force {directory}"
    if _is_of_uv_tool(prefix):
        return f"uv tool install --reinstall {directory}"
    if _is_made_by_uv(prefix):
        return f"uv pip install --python {shlex.quote(python)} --reinstall-package {PACKAGE} {directory}"
    return f"{shlex.quote(python)} -m pip install --upgrade {directory}"


def _from_elsewhere(origin: _DirectUrl, prefix: Path, python: str) -> str:
    """Update from the repository or the index that it came from."""
    if _is_of_pipx(prefix):
        return f"pipx upgrade {prefix.name}"
    if _is_of_uv_tool(prefix):
        return f"uv tool upgrade {prefix.name}"
    package = PACKAGE if origin.vcs_info is None else shlex.quote(f"{origin.vcs_info.vcs}+{origin.url}")
    if _is_made_by_uv(prefix):
        return f"uv pip install --python {shlex.quote(python)} --upgrade {package}"
    return f"{shlex.quote(python)} -m pip install --upgrade {package}"


def _origin() -> _DirectUrl:
    try:
        text = Distribution.from_name(PACKAGE).read_text("direct_url.json")
        return msgspec.json.decode(text or "{}", type=_DirectUrl)
    except (PackageNotFoundError, OSError, msgspec.DecodeError):
        return _DirectUrl()


def _is_of_pipx(prefix: Path) -> bool:
    return prefix.parts[-3:-1] == ("pipx", "venvs")


def _is_of_uv_tool(prefix: Path) -> bool:
    return prefix.parts[-3:-1] == ("uv", "tools")


def _is_made_by_uv(prefix: Path) -> bool:
    """Whether uv created this environment, which then has no pip."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)
