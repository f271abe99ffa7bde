"""Where the user's own files are."""

import os
import pwd
from pathlib import Path

from robota.config.paths import settings_path, user_directory


def test_robota_home_comes_before_home() -> None:
    assert user_directory({"ROBOTA_HOME": "/r", "HOME": "/h"}) == Path("/r")
    assert user_directory({"HOME": "/h"}) == Path("/h/.robota")
    assert settings_path({"HOME": "/h"}) == Path("/h/.robota/settings.json")


def test_without_home_the_user_database_is_asked() -> None:
    assert user_directory({}) == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".robota"


def test_a_relative_directory_is_taken_from_here() -> None:
    assert user_directory({"ROBOTA_HOME": "r"}) == Path.cwd() / "r"
