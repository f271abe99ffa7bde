"""Check for a newer release of Robota: at most once a day, only in interactive sessions, and in the background.

A session shows the cached result of an earlier check. If that is out of date, a new check runs in the background and
its result is shown by the next session.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Final
from urllib.parse import urlsplit

import msgspec

from robota.cli.update.versions import PACKAGE, is_newer, newest, versions_in
from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.config.settings.schema import UpdateCheck
from robota.config.transaction import transaction
from robota.version import VERSION

CACHE_NAME: Final = "update-check.json"
CACHE_LIFETIME_MS: Final = 24 * 60 * 60 * 1000
REQUEST_TIMEOUT_S: Final = 1.5
# By then the first screen is drawn; an earlier check would compete with it for the processor.
CHECK_DELAY_S: Final = 1.0
DISABLING_VARIABLES: Final = ("CI", "DO_NOT_TRACK")
SIMPLE_INDEX_TYPES: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


class UpdateCheckResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cached result of the last check."""

    package_name: str
    checked_at: int
    current_version: str
    latest_version: str | None = None
    error_message: str | None = None


NO_INDEX: Final = "neither pip nor uv names a package index; set one with: robota config set updateCheck.index"


def check_now(env: Mapping[str, str]) -> UpdateCheckResult:
    """Check now, regardless of the cache."""
    result = _check(env, load_settings(None, env).values.update_check, _now_ms())
    _cache_result(env, result)
    return result


def start_up_notice(env: Mapping[str, str], settings: UpdateCheck) -> str | None:
    """A line to show in an interactive session, or None. Never blocks."""
    if not settings.enabled or any(env.get(name, "") not in ("", "0", "false") for name in DISABLING_VARIABLES):
        return None
    now_ms = _now_ms()
    result = _cached_result(env)
    if result is None or result.current_version != VERSION or not 0 <= now_ms - result.checked_at < CACHE_LIFETIME_MS:
        # A daemon thread, so that an index that does not answer cannot keep the process alive.
        timer = Timer(CHECK_DELAY_S, lambda: _cache_result(env, _check(env, settings, now_ms)))
        timer.daemon = True
        timer.start()
    return newer_version(result) if result is not None else None


def _check(env: Mapping[str, str], settings: UpdateCheck, now_ms: int) -> UpdateCheckResult:
    latest, problem = None, None
    try:
        latest = newest(versions_in(asyncio.run(_fetch_page(env, settings)), PACKAGE))
        problem = None if latest else f"the index has no release of {PACKAGE}"
    except (ConfigError, TimeoutError) as error:
        problem = str(error) or f"the package index did not answer within {REQUEST_TIMEOUT_S:g} seconds."
    return UpdateCheckResult(
        package_name=PACKAGE,
        checked_at=now_ms,
        current_version=VERSION,
        latest_version=latest,
        error_message=problem,
    )


async def _fetch_page(env: Mapping[str, str], settings: UpdateCheck) -> bytes:
    # Most sessions use the cached result and never get here.
    from robota.cli.update.package_index import index_address

    index = index_address(env, settings.index)
    if index is None:
        raise ConfigError(NO_INDEX)
    # Slow: it imports the HTTP client.
    from robota.providers.fault import ProviderFault
    from robota.providers.http.client import Http

    http = Http(idle_timeout_s=REQUEST_TIMEOUT_S, secrets=_credentials(index))
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            return await http.get(f"{index}/{PACKAGE}/", {"accept": SIMPLE_INDEX_TYPES})
    except ProviderFault as fault:
        message = (fault.reason or fault.message).rstrip(".")
        address = _without_credentials(index)
        raise ConfigError(f"the package index {address} returned an unexpected answer: {message}.") from fault
    finally:
        await http.close()


def _without_credentials(index: str) -> str:
    parts = urlsplit(index)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _credentials(index: str) -> tuple[str, ...]:
    parts = urlsplit(index)
    return tuple(part for part in (parts.password, parts.username) if part)


def newer_version(result: UpdateCheckResult) -> str | None:
    """A line about the newer version that was found, with the command that installs it."""
    latest = result.latest_version
    if latest is None or not is_newer(latest, VERSION):
        return None
    # Slow: it reads the metadata of the installed package.
    from robota.cli.update.installation import update_command

    return f"Robota {latest} is available (this is {VERSION}). To update: {update_command()}"


def _cached_result(env: Mapping[str, str]) -> UpdateCheckResult | None:
    try:
        return msgspec.json.decode(read_file(_cache_path(env)), type=UpdateCheckResult)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, ConfigError):
        return None


def _cache_result(env: Mapping[str, str], result: UpdateCheckResult) -> None:
    try:
        path = _cache_path(env)
        with transaction(path.parent) as files:
            files.write(path.name, msgspec.json.encode(result) + b"\n")
    except (OSError, ConfigError):
        return


def _cache_path(env: Mapping[str, str]) -> Path:
    return user_directory(env) / CACHE_NAME


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
