"""Check for a newer release of Robota: at most once a day, only in interactive sessions, and in the background.

A session shows the cached result of an earlier check. If that is out of date, a new check runs in the background and
its result is shown by the next session.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Timer
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.config.settings.schema import UpdateCheck
from robota.config.transaction import transaction
from robota.version import VERSION

PACKAGE: Final = "robota"
CACHE_NAME: Final = "update-check.json"
FRESH_MS: Final = 24 * 60 * 60 * 1000
PATIENCE_S: Final = 1.5
# By then the first screen is drawn; an earlier check would compete with it for the processor.
LATER_S: Final = 1.0
HOW_TO_UPDATE: Final = f"pip install --upgrade {PACKAGE}"
QUIET_VARIABLES: Final = ("CI", "DO_NOT_TRACK")
SIMPLE_API: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
RELEASE: Final = r"\d+(?:\.\d+)*(?:\.?post\d+)?"
FILE_VERSION: Final = rf"(?i){PACKAGE}-([0-9][^-\s\"'<>]*?)(?:-[^\"'<>\s]*\.whl|\.tar\.gz|\.zip)"


class Checked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cached result of the last check."""

    package_name: str
    checked_at: int
    current_version: str
    latest_version: str | None = None
    error_message: str | None = None


def check_now(env: Mapping[str, str]) -> int:
    """`--check-update`: check now, regardless of the cache, and print the result."""
    checked = _look(env, load_settings(None, env).values.update_check, _now_ms())
    _store(env, checked)
    if checked.error_message is not None:
        print(f"robota: could not check for a newer version: {checked.error_message}", file=sys.stderr)
        return 1
    print(_notice(checked) or f"Robota {VERSION} is the newest version.")
    return 0


def start_up_notice(env: Mapping[str, str], wanted: UpdateCheck) -> str | None:
    """A line to show in an interactive session, or None. Never blocks."""
    if not wanted.enabled or any(env.get(name, "") not in ("", "0", "false") for name in QUIET_VARIABLES):
        return None
    now_ms = _now_ms()
    checked = _stored(env)
    if checked is None or checked.current_version != VERSION or not 0 <= now_ms - checked.checked_at < FRESH_MS:
        # A daemon thread, so that an index that does not answer cannot keep the process alive.
        looking = Timer(LATER_S, lambda: _store(env, _look(env, wanted, now_ms)))
        looking.daemon = True
        looking.start()
    return _notice(checked) if checked is not None else None


def newest(versions: Iterable[str]) -> str | None:
    """The highest release, ignoring pre-releases."""
    released = [version for version in versions if re.fullmatch(RELEASE, version)]
    return max(released, key=_order, default=None)


def versions_in(body: bytes) -> list[str]:
    """The versions on a page of the simple index, in JSON or HTML, without yanked files."""
    try:
        page = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        anchors = re.findall(r"<a\b[^>]*>", body.decode("utf-8", "replace"), re.IGNORECASE)
        text = "\n".join(anchor for anchor in anchors if "data-yanked" not in anchor)
    else:
        files = page.get("files", []) if isinstance(page, dict) else []
        kept = [file for file in files if isinstance(file, dict) and not file.get("yanked")]
        text = "\n".join(str(file.get("filename", "")) for file in kept)
    return re.findall(FILE_VERSION, text)


def _look(env: Mapping[str, str], wanted: UpdateCheck, now_ms: int) -> Checked:
    latest, problem = None, None
    try:
        latest = newest(versions_in(asyncio.run(_page(env, wanted))))
        problem = None if latest else f"the index has no release of {PACKAGE}"
    except (ConfigError, TimeoutError) as error:
        problem = str(error) or f"the package index did not answer within {PATIENCE_S:g} seconds."
    return Checked(
        package_name=PACKAGE,
        checked_at=now_ms,
        current_version=VERSION,
        latest_version=latest,
        error_message=problem,
    )


async def _page(env: Mapping[str, str], wanted: UpdateCheck) -> bytes:
    # Most sessions use the cached result and never get here.
    from robota.cli.update.package_index import index_address

    index = index_address(env, wanted.index)
    if index is None:
        raise ConfigError("neither pip nor uv names a package index; set one with: robota config set updateCheck.index")
    # Slow: it imports the HTTP client.
    from robota.providers.fault import ProviderFault
    from robota.providers.http.client import Http

    http = Http(idle_timeout_s=PATIENCE_S, secrets=_secrets(index))
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await http.get(f"{index}/{PACKAGE}/", {"accept": SIMPLE_API})
    except ProviderFault as fault:
        said = (fault.reason or fault.message).rstrip(".")
        raise ConfigError(f"the package index {_shown(index)} returned an unexpected answer: {said}.") from fault
    finally:
        await http.close()


def _shown(index: str) -> str:
    """The address without user name and password."""
    parts = urlsplit(index)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _secrets(index: str) -> tuple[str, ...]:
    parts = urlsplit(index)
    return tuple(part for part in (parts.password, parts.username) if part)


def _notice(checked: Checked) -> str | None:
    latest = checked.latest_version
    if latest is None or _order(latest) <= _order(VERSION):
        return None
    return f"Robota {latest} is available (this is {VERSION}). To update: {HOW_TO_UPDATE}"


def _order(version: str) -> tuple[Any, ...]:
    """A sort key: the numbers, with a pre-release before its release."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = [int(part) for part in numbers[0].split(".")] if numbers else [0]
    while release and release[-1] == 0:
        release.pop()
    rest = version[numbers.end() :] if numbers else version
    post = re.search(r"post(\d+)", rest)
    is_final = rest == "" or post is not None
    return (tuple(release), is_final, int(post[1]) if post else -1)


def _stored(env: Mapping[str, str]) -> Checked | None:
    try:
        return msgspec.json.decode(read_file(_cache(env)), type=Checked)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, ConfigError):
        return None


def _store(env: Mapping[str, str], checked: Checked) -> None:
    try:
        path = _cache(env)
        with transaction(path.parent) as files:
            files.write(path.name, msgspec.json.encode(checked) + b"\n")
    except (OSError, ConfigError):
        return


def _cache(env: Mapping[str, str]) -> Path:
    return user_directory(env) / CACHE_NAME


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
