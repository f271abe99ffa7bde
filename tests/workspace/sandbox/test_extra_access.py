"""Which directories outside the workspace a user is offered to open for writing: those where nothing is executed."""

from pathlib import Path

import pytest

from robota.workspace.sandbox.extra_access import MAX_ENTRIES, describe_extra_access, problem_with_extra_access


class Place:
    def __init__(self, base: Path) -> None:
        self.home, self.root = base / "home", base / "home" / "code" / "ws"
        self.root.mkdir(parents=True)

    def problem(self, name: str, **environment: str) -> str | None:
        """With a directory of that name in the home directory."""
        (self.home / name).mkdir(parents=True, exist_ok=True)
        return problem_with_extra_access(str(self.home / name), self.root, self.home, environment)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_directory_with_data_can_be_opened(place: Place) -> None:
    (place.home / "data" / "2026").mkdir(parents=True)
    (place.home / "data" / "2026" / "numbers.csv").write_text("1,2\n")
    assert place.problem("data", PATH="/usr/bin", TMPDIR=str(place.home / "data")) is None
    assert place.problem("data/2026") is None


@pytest.mark.parametrize(
    "name",
    [
        ".config",
        ".config/autostart",
        ".config/systemd/user",
        ".config/fish/conf.d",
        ".local/bin",
        ".local/share/applications",
        ".local/share/systemd/user",
        ".cache/pre-commit",
        ".ssh",
        ".vim/plugin",
        "bin",
        "go/bin",
        "miniconda3/envs",
        "Desktop",
        "Library/LaunchAgents",
        "project/node_modules/tool",
    ],
)
def test_places_of_programs_and_settings_cannot(place: Place, name: str) -> None:
    assert place.problem(name) is not None


@pytest.mark.parametrize(
    "place", ["/var/spool/cron", "/etc/cron.d", "/opt/tool", "/usr/local/lib", "/root", "/home/other", "/nix/store"]
)
def test_places_of_the_system_and_of_others_cannot(tmp_path: Path, place: str) -> None:
    assert problem_with_extra_access(place, tmp_path / "ws", tmp_path / "home", {}) is not None


@pytest.mark.parametrize("variable", ["PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "XDG_CONFIG_HOME", "XDG_DATA_DIRS"])
@pytest.mark.parametrize("searched", ["tools", "tools/deep/er", ""], ids=["itself", "within", "around"])
def test_what_programs_search_cannot(place: Place, variable: str, searched: str) -> None:
    (place.home / "tools" / "deep" / "er").mkdir(parents=True)
    value = f"/usr/bin:{place.home / searched}"
    assert place.problem("tools", **{variable: value}) is not None


def test_a_search_path_through_a_link_counts(place: Place, tmp_path: Path) -> None:
    (place.home / "tools").mkdir()
    (tmp_path / "link").symlink_to(place.home / "tools")
    assert place.problem("tools", PATH=str(tmp_path / "link")) is not None


@pytest.mark.parametrize("opened", ["other", "other/dist", "projects"])
def test_other_repositories_cannot(place: Place, opened: str) -> None:
    for repository in ("other", "projects/deep/one"):
        (place.home / repository / ".git").mkdir(parents=True)
    (place.home / "other" / "dist").mkdir()
    assert place.problem(opened) is not None


def test_nor_a_repository_without_files(place: Place) -> None:
    for name in ("objects", "refs"):
        (place.home / "mirror" / name).mkdir(parents=True)
    (place.home / "mirror" / "HEAD").write_text("ref: refs/heads/main\n")
    assert place.problem("mirror") is not None
    assert place.problem("mirror/refs") is not None


def test_a_directory_with_a_program_cannot(place: Place) -> None:
    tool = place.home / "stuff" / "deep" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    assert place.problem("stuff") is None
    tool.chmod(0o755)
    assert place.problem("stuff") is not None


@pytest.mark.parametrize("name", ["AGENTS.md", "lefthook-local.yml", "Makefile.d/.envrc"])
def test_a_directory_with_a_file_that_programs_obey_cannot(place: Place, name: str) -> None:
    (place.home / "stuff" / name).parent.mkdir(parents=True)
    (place.home / "stuff" / name).touch()
    assert place.problem("stuff") is not None


def test_a_directory_that_is_too_large_to_check_cannot(place: Place) -> None:
    (place.home / "many").mkdir()
    for number in range(MAX_ENTRIES + 1):
        (place.home / "many" / str(number)).touch()
    assert place.problem("many") is not None


def test_the_words_say_what_is_allowed() -> None:
    assert (
        describe_extra_access(["a.example", "/srv/x", "b.example"])
        == "connect to a.example, b.example and write in /srv/x"
    )
    assert describe_extra_access(["/srv/x"]) == "write in /srv/x"


@pytest.mark.parametrize("name", ["", "code", "code/ws", "code/ws/docs"])
def test_the_workspace_what_contains_it_and_what_is_in_it_cannot_be_opened(place: Place, name: str) -> None:
    assert place.problem(name) == "it is the workspace, the home directory, or a parent of them"
