"""State that Robota writes for itself is refused if anybody else wrote, changed or moved it."""

import os
import stat
from pathlib import Path

import pytest

from robota.config.sealed_state import KEY_BYTES, KEY_NAME, SEAL_BYTES, ForeignState, seal, unseal


def test_what_was_sealed_comes_back_for_its_purpose_alone(tmp_path: Path) -> None:
    user = tmp_path / "user"
    for data in (b"", b"state", b"x" * 10_000):
        sealed = seal(user, "journal of /a", data)
        assert unseal(user, "journal of /a", sealed) == data
        for purpose in ("journal of /b", "journal of /", ""):
            with pytest.raises(ForeignState, match="not written by Robota for this purpose"):
                unseal(user, purpose, sealed)
    assert [file.name for file in user.iterdir()] == [KEY_NAME]
    assert stat.S_IMODE((user / KEY_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(user.stat().st_mode) == 0o700


def test_a_purpose_and_its_data_cannot_be_shifted_into_each_other(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "a", b"bc")
    with pytest.raises(ForeignState):
        unseal(tmp_path, "ab", sealed[:SEAL_BYTES] + b"c")


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    sealed = seal(tmp_path, "p", b"data")
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(ForeignState):
            unseal(tmp_path, "p", bytes(changed))
    for cut in (b"", sealed[:SEAL_BYTES], sealed[:-1]):
        with pytest.raises(ForeignState):
            unseal(tmp_path, "p", cut)


def test_state_of_another_user_directory_is_refused(tmp_path: Path) -> None:
    sealed = seal(tmp_path / "one", "p", b"data")
    with pytest.raises(ForeignState, match="nothing was ever sealed here"):
        unseal(tmp_path / "two", "p", sealed)
    seal(tmp_path / "two", "p", b"other")
    with pytest.raises(ForeignState):
        unseal(tmp_path / "two", "p", sealed)


@pytest.mark.parametrize("key", [b"", b"k" * (KEY_BYTES - 1), b"k" * (KEY_BYTES + 1)])
def test_a_damaged_key_opens_nothing_and_is_made_again(tmp_path: Path, key: bytes) -> None:
    sealed = seal(tmp_path, "p", b"data")
    (tmp_path / KEY_NAME).write_bytes(key)
    with pytest.raises(ForeignState):
        unseal(tmp_path, "p", sealed)
    assert unseal(tmp_path, "p", seal(tmp_path, "p", b"data")) == b"data"
    assert (tmp_path / KEY_NAME).stat().st_size == KEY_BYTES


def test_a_key_behind_a_link_is_not_used(tmp_path: Path) -> None:
    """Whoever plants it would know the key."""
    (tmp_path / "known").write_bytes(b"k" * KEY_BYTES)
    user = tmp_path / "user"
    user.mkdir()
    (user / KEY_NAME).symlink_to(tmp_path / "known")
    with pytest.raises(OSError, match="symbolic links"):
        seal(user, "p", b"data")
    with pytest.raises(OSError, match="symbolic links"):
        unseal(user, "p", b"s" * SEAL_BYTES)


def test_processes_that_seal_first_at_the_same_time_use_one_key(tmp_path: Path) -> None:
    user = tmp_path / "user"
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                (tmp_path / f"sealed-{number}").write_bytes(seal(user, "p", b"data"))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    for number in range(8):
        assert unseal(user, "p", (tmp_path / f"sealed-{number}").read_bytes()) == b"data"
    assert [file.name for file in user.iterdir()] == [KEY_NAME]
