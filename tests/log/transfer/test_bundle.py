"""A bundle brings a session to another machine, and takes nothing along that should stay."""

import getpass
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from robota.cli.main import main
from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.replay.session import replay
from robota.protocol.permission_mode import PermissionMode
from tests.log.catalogue.logs import Written

KEY = "sk-ant-api03-" + "aB3" * 30


class Machines:
    """A session on one machine, and another machine to bring it to."""

    def __init__(self, here: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.here = here
        self.home = home
        self.there = here.with_name("there")
        self.there.mkdir()
        self.bundle = here.with_name("bundle.zip")
        self._capsys = capsys
        written = Written(here, "origin").prompt(f"Look at {home}/notes").reply("Nothing there.")
        self.artifact = written.log.keep(f"output in {home}/x\n".encode())
        written.call("read_command_output", {"artifact_id": self.artifact}, f"see {self.artifact}").end()
        self.session = written

    def __call__(self, *arguments: str, where: Path | None = None) -> tuple[int, str, str]:
        code = main(["sessions", *arguments, "--cwd", str(where or self.here)])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def export(self, *arguments: str) -> None:
        code, _, err = self("export", "origin", "--format", "bundle", "-o", str(self.bundle), "--force", *arguments)
        assert code == 0, err

    def bring(self) -> Path:
        code, out, err = self("import", str(self.bundle), "--json", where=self.there)
        assert code == 0, err
        return Path(json.loads(out)[0]["path"])


@pytest.fixture
def machines(workspace: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> Machines:
    return Machines(workspace, home, capsys)


def test_a_bundle_that_is_not_redacted_keeps_the_chain(machines: Machines) -> None:
    machines.export("--no-redact")
    directory = machines.bring()
    taken, original = load(directory / "log.jsonl"), load(machines.session.log.path)
    assert taken.records[: len(original.records)] == original.records
    assert verify(directory / "log.jsonl").broken is None
    assert (directory / "artifacts" / machines.artifact).read_bytes().startswith(b"output in")
    session = replay(taken.records)
    assert session.header is not None
    assert (session.header.cwd, session.header.permission_mode) == (str(machines.there), PermissionMode.DEFAULT)


def test_a_redacted_bundle_says_so_and_has_a_chain_of_its_own(machines: Machines) -> None:
    machines.export()
    with zipfile.ZipFile(machines.bundle) as bundle:
        content = b"".join(bundle.read(name) for name in bundle.namelist())
        manifest = json.loads(bundle.read("manifest.json"))
    assert str(machines.home).encode() not in content
    assert b"~/notes" in content
    assert manifest["redacted"] and manifest["originalHead"] == load(machines.session.log.path).head_hash
    directory = machines.bring()
    assert verify(directory / "log.jsonl").broken is None
    (artifact,) = (directory / "artifacts").iterdir()
    assert artifact.read_bytes() == b"output in ~/x\n"
    assert artifact.name.encode() in (directory / "log.jsonl").read_bytes()
    assert machines.artifact.encode() not in (directory / "log.jsonl").read_bytes()


def test_a_session_can_come_back_beside_itself(machines: Machines) -> None:
    machines.export("--no-redact")
    first, second = machines.bring(), machines.bring()
    assert first.name == "origin" and second.name != "origin"
    _, out, _ = machines("list", "--json", where=machines.there)
    assert {each["origin"]["source"] for each in json.loads(out)} == {"bundle"}


@pytest.mark.parametrize("format", ["markdown", "html", "stream-json"])
def test_every_format_is_covered_unless_one_says_no(machines: Machines, format: str) -> None:
    path = machines.bundle.with_suffix(".out")
    assert machines("export", "origin", "--format", format, "-o", str(path))[0] == 0
    assert str(machines.home) not in path.read_text() and "~/notes" in path.read_text()
    assert machines("export", "origin", "--format", format, "-o", str(path))[0] == 1
    assert machines("export", "origin", "--format", format, "-o", str(path), "--force", "--no-redact")[0] == 0
    assert str(machines.home) in path.read_text()


def broken_digest(bundle: dict[str, bytes]) -> None:
    bundle["log.jsonl"] = bundle["log.jsonl"].replace(b"Nothing there.", b"Nothing THERE.")


def escaping_name(bundle: dict[str, bytes]) -> None:
    manifest = json.loads(bundle["manifest.json"])
    manifest["files"].append({"name": "../../evil", "size": 1, "sha256": "0" * 64})
    bundle["manifest.json"] = json.dumps(manifest).encode()
    bundle["../../evil"] = b"x"


def lying_size(bundle: dict[str, bytes]) -> None:
    manifest = json.loads(bundle["manifest.json"])
    manifest["files"][0]["size"] = 10
    bundle["manifest.json"] = json.dumps(manifest).encode()


def newer(bundle: dict[str, bytes]) -> None:
    bundle["manifest.json"] = bundle["manifest.json"].replace(b'"version": 1', b'"version": 2')


def no_log(bundle: dict[str, bytes]) -> None:
    manifest = json.loads(bundle["manifest.json"])
    manifest["files"] = [file for file in manifest["files"] if file["name"] != "log.jsonl"]
    bundle["manifest.json"] = json.dumps(manifest).encode()


def missing_file(bundle: dict[str, bytes]) -> None:
    del bundle["log.jsonl"]


def no_manifest(bundle: dict[str, bytes]) -> None:
    del bundle["manifest.json"]


@pytest.mark.parametrize("damage", [broken_digest, escaping_name, lying_size, newer, no_log, missing_file, no_manifest])
def test_a_bundle_that_is_not_what_it_says_is_refused(
    machines: Machines, damage: Callable[[dict[str, bytes]], None]
) -> None:
    machines.export("--no-redact")
    with zipfile.ZipFile(machines.bundle) as bundle:
        content = {name: bundle.read(name) for name in bundle.namelist()}
    damage(content)
    with zipfile.ZipFile(machines.bundle, "w") as bundle:
        for name, data in content.items():
            bundle.writestr(name, data)
    code, _, err = machines("import", str(machines.bundle), where=machines.there)
    assert code == 1 and "Nothing was changed" in err
    sessions = machines.there / ".robota" / "sessions"
    assert not sessions.exists() or (list(sessions.glob("[!.]*")) == [] and list(sessions.glob(".new/*")) == [])
    assert not (machines.there.parent / "evil").exists()


def test_a_cut_off_bundle_and_garbage_are_refused(machines: Machines) -> None:
    machines.export()
    data = machines.bundle.read_bytes()
    for content in (data[: len(data) // 2], b"", b"PK\x03\x04" + b"\xff" * 100, b"{}\n" * 10):
        machines.bundle.write_bytes(content)
        code, _, err = machines("import", str(machines.bundle), where=machines.there)
        assert code == 1 and "Nothing was changed" in err


def test_names_and_keys_are_covered_where_they_are_names(home: Path) -> None:
    from robota.log.transfer.export_redaction import ExportRedactor
    from robota.secrets.redaction import Redactor

    cover = ExportRedactor(["/home/zelda"], "zelda", "castle.example", Redactor())
    payload = {"a": f"/home/zelda/x /home/zeldax zelda@castle Zelda {KEY}", "/home/zelda": ["castle.example"]}
    covered = msgspec.json.decode(cover.payload(msgspec.json.encode(payload)))
    assert list(covered) == ["a", "~"] and covered["~"] == ["host"]
    assert covered["a"].startswith("~/x /home/zeldax user@host user ***")
    assert KEY not in covered["a"]
    assert ExportRedactor([], "root", "localhost", Redactor()).text("the root of localhost") == "the root of localhost"
    assert getpass.getuser()  # the name that a real export covers
