"""Release versions: those on a page of a package index, and which of them is the newest."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

PACKAGE: Final = "robota"
RELEASE: Final = r"\d+(?:\.\d+)*(?:\.?post\d+)?"

# The release numbers, whether it is final (a pre-release comes before its release), and the post-release number.
VersionKey = tuple[tuple[int, ...], bool, int]


def newest(versions: Iterable[str]) -> str | None:
    """The highest release, ignoring pre-releases."""
    releases = [version for version in versions if re.fullmatch(RELEASE, version)]
    return max(releases, key=_version_key, default=None)


def is_newer(version: str, than: str) -> bool:
    """Whether `version` comes after the version `than`."""
    return _version_key(version) > _version_key(than)


def versions_in(page: bytes, package: str) -> list[str]:
    """The versions of a package on its page of the simple index, in JSON or HTML, without yanked files."""
    try:
        document = msgspec.json.decode(page)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        anchors = re.findall(r"<a\b[^>]*>", page.decode("utf-8", "replace"), re.IGNORECASE)
        text = "\n".join(anchor for anchor in anchors if "data-yanked" not in anchor)
    else:
        files = document.get("files", []) if isinstance(document, dict) else []
        available = [file for file in files if isinstance(file, dict) and not file.get("yanked")]
        text = "\n".join(str(file.get("filename", "")) for file in available)
    file_name = rf"(?i){re.escape(package)}-([0-9][^-\s\"'<>]*?)(?:-[^\"'<>\s]*\.whl|\.tar\.gz|\.zip)"
    return re.findall(file_name, text)


def _version_key(version: str) -> VersionKey:
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = [int(part) for part in numbers[0].split(".")] if numbers else [0]
    while release and release[-1] == 0:
        release.pop()
    suffix = version[numbers.end() :] if numbers else version
    post = re.search(r"post(\d+)", suffix)
    is_final = suffix == "" or post is not None
    return tuple(release), is_final, int(post[1]) if post else -1
