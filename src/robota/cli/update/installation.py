"""How this copy of Robota was installed, and so which command updates it."""

import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from robota.cli.update.versions import PACKAGE


class _Directory(msgspec.Struct, frozen=True):
    editable: bool = False


class _DirectUrl(msgspec.Struct, frozen=True):
    """`direct_url.json`: where pip, pipx or uv took the package from, if that was no index."""

    url: str = ""
    dir_info: _Directory = _Directory()


def update_command(prefix: Path = Path(sys.prefix), python: str = sys.executable) -> str:
    """The command that updates the installation in `prefix`, as it would be typed in a shell."""
    checkout = _checkout()
    if checkout is not None:
        return f"git -C {shlex.quote(str(checkout))} pull"
    if prefix.parts[-3:-1] == ("pipx", "venvs"):
        return f"pipx upgrade {prefix.name}"
    if prefix.parts[-3:-1] == ("uv", "tools"):
        return f"uv tool upgrade {prefix.name}"
    if _is_made_by_uv(prefix):
        return f"uv pip install --python {shlex.quote(python)} --upgrade {PACKAGE}"
    return f"{shlex.quote(python)} -m pip install --upgrade {PACKAGE}"


def _checkout() -> Path | None:
    """The source directory of an editable installation."""
    try:
        text = Distribution.from_name(PACKAGE).read_text("direct_url.json")
        direct = msgspec.json.decode(text or "{}", type=_DirectUrl)
    except (PackageNotFoundError, OSError, msgspec.DecodeError):
        return None
    return Path(unquote(urlsplit(direct.url).path)) if direct.dir_info.editable else None


def _is_made_by_uv(prefix: Path) -> bool:
    """Whether uv created this environment, which then has no pip."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)
