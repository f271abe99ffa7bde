"""`robota replay` and `robota report`: sessions of the scripted model run again, and what was planted is named."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robota.log.record import FIRST_PREV, seal
from tests.cli.scripts import call, script, sessions, write_settings
from tests.harness.cli import Robota

BYPASS = ("--permission-mode", "bypassPermissions")
TEXT = "one\ntwo\nthree\n"

WRITE_AND_RUN = (
    {"text": "A file.", "calls": [call("write_to_file", path="a.txt", content=TEXT)]},
    {
        "calls": [
            call("read_file", path="a.txt"),
            call("list_files", path="."),
            call("search_files", path=".", regex="t"),
        ]
    },
    {"calls": [call("edit_file", path="a.txt", old_string="two", new_string="zwei")]},
    {"calls": [call("execute_command", command="echo four >> a.txt; date +%N; exit 3")]},
    {"calls": [call("edit_file", path="a.txt", old_string="four", new_string="vier")]},
    {"text": "Done."},
)
SESSIONS: dict[str, tuple[tuple[dict[str, Any], ...], tuple[str, ...]]] = {
    "write, read, edit, run": (WRITE_AND_RUN, BYPASS),
    "only words": (({"reasoning": "Hm.", "text": "Hello."},), ()),
    "refused for want of a user": (
        ({"calls": [call("execute_command", command="touch x")]}, {"text": "Not allowed, then."}),
        (),
    ),
    "mistakes": (
        (
            {"calls": [call("read_file", path="nothing.txt")]},
            {"calls": [{"name": "write_to_file", "arguments": "{broken"}]},
            {"calls": [call("no_such_tool", x=1)]},
            {"calls": [call("edit_file", path="b.txt", old_string="not there", new_string="x")]},
            {"text": "I give up."},
        ),
        BYPASS,
    ),
    "a subtask, todos, a completion": (
        (
            {"calls": [call("update_todo_list", todos="[ ] first\n[ ] second")]},
            {"calls": [call("new_task", mode="code", message="write b.txt")]},
            {"calls": [call("write_to_file", path="c.txt", content="by the subtask\n")]},
            {"calls": [call("attempt_completion", result="written")]},
            {"calls": [call("attempt_completion", result="all done")]},
        ),
        (*BYPASS, "--completion", "explicit"),
    ),
    "a patch and a failed request": (
        (
            {"fault": {"kind": "overloaded"}},
            {
                "calls": [
                    call(
                        "apply_patch",
                        patch="*** Begin Patch\n*** Add File: n.txt\n+new\n*** Update File: b.txt\n@@\n-old\n+older\n"
                        "*** End Patch",
                    )
                ]
            },
            {"text": "Patched."},
        ),
        BYPASS,
    ),
    "a mention": (({"text": "It says old."},), ()),
}


def run(robota: Robota, name: str) -> Path:
    turns, options = SESSIONS[name]
    (robota.workspace / "b.txt").write_text("old\n")
    script(robota, *turns)
    prompt = "what is in @b.txt?" if name == "a mention" else f"do it: {name}"
    robota("-p", prompt, *options)
    return sessions(robota)[-1]


def replayed(robota: Robota, *words: str) -> dict[str, Any]:
    ended = robota("replay", *words, "--json")
    assert ended.code in (0, 1), ended.stderr
    report: dict[str, Any] = json.loads(ended.stdout)
    assert report["identical"] is (ended.code == 0)
    return report


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_is_identical_when_it_is_run_again(robota: Robota, name: str) -> None:
    session = run(robota, name)
    before = {path: path.read_bytes() for path in robota.workspace.glob("*.txt")}
    report = replayed(robota, session.name)
    assert report["divergence"] is None, report
    assert report["requests"] == report["allRequests"] > 0
    assert {path: path.read_bytes() for path in robota.workspace.glob("*.txt")} == before
    assert sessions(robota) == [session], "the replay leaves no session"


def rewritten(session: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change records of a log and recompute its chain, as an attacker would to hide the change."""
    head, lines = FIRST_PREV, []
    for line in (session / "log.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        change(record)
        payload = json.dumps(record["payload"]).encode()
        sealed, head = seal(record["seq"], record["ts"], record["kind"], payload, head)
        lines.append(sealed)
    (session / "log.jsonl").write_bytes(b"".join(lines))


def test_one_byte_in_a_file_is_named(robota: Robota) -> None:
    """The tool would write another byte today than the checkpoint after it has."""
    session = run(robota, "write, read, edit, run")

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] in ("toolStart", "turn"):
            text = json.dumps(record["payload"])
            record["payload"] = json.loads(text.replace("zwei", "zwej"))

    rewritten(session, plant)
    found = replayed(robota, session.name)["divergence"]
    assert found["kind"] == "files"
    assert found["where"] == "a.txt after call_3_1 (edit_file), line 2, character 4"
    assert (found["recorded"], found["replayed"]) == ("'zwei'", "'zwej'")


def test_one_byte_of_an_argument_is_named(robota: Robota) -> None:
    session = run(robota, "write, read, edit, run")

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "toolStart" and record["payload"]["callId"] == "call_4_1":
            record["payload"]["input"]["command"] = record["payload"]["input"]["command"].replace("four", "fuor")

    rewritten(session, plant)
    found = replayed(robota, session.name)["divergence"]
    assert found["kind"] == "arguments" and "the input of call_4_1 (execute_command)" in found["where"]
    assert "fuor" in found["recorded"] and "four" in found["replayed"]


def test_one_changed_byte_of_a_request_is_named(robota: Robota) -> None:
    """The engine says today something else to a reply without a tool than it did then."""
    script(robota, {"text": "Words alone."}, {"calls": [call("attempt_completion", result="done")]})
    robota("-p", "do it", *BYPASS, "--completion", "explicit")
    session = sessions(robota)[-1]
    assert replayed(robota, session.name)["divergence"] is None

    def plant(record: dict[str, Any]) -> None:
        text = json.dumps(record["payload"])
        if record["kind"] == "turn" and record["payload"]["turn"]["role"] == "user":
            record["payload"] = json.loads(text.replace("You did not use a tool", "You did not use a tooI"))

    rewritten(session, plant)
    found = replayed(robota, session.name)["divergence"]
    assert found["kind"] == "prompt" and found["where"].startswith("what request 2 is told")
    assert "tooI" in found["recorded"] and "tool" in found["replayed"]


def test_one_byte_of_the_log_itself_is_named(robota: Robota) -> None:
    """A result comes from the log, so that it is another one there changes nothing else."""
    session = run(robota, "write, read, edit, run")

    def plant(record: dict[str, Any]) -> None:
        if record["kind"] == "turn":
            record["payload"] = json.loads(json.dumps(record["payload"]).replace("1 | one", "1 | oNe"))

    rewritten(session, plant)
    found = replayed(robota, session.name)["divergence"]
    assert found["kind"] == "log" and "rewritten" in found["recorded"]


def test_live_tools_run_again_and_what_comes_out_otherwise_is_named(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("execute_command", command="echo same; echo content > made.txt")]},
        {"calls": [call("execute_command", command="date +%s%N > when.txt")]},
        {"text": "Done."},
    )
    robota("-p", "run", *BYPASS)
    session = sessions(robota)[-1]
    ended = robota("replay", session.name, "--tools", "live", "--json")
    if "no sandbox" in ended.stderr:
        pytest.skip("no sandbox here")
    found = json.loads(ended.stdout)["divergence"]
    assert found["kind"] == "files" and found["where"].startswith("when.txt after call_2_1")


def test_another_model_is_asked_and_its_first_other_decision_is_named(robota: Robota) -> None:
    session = run(robota, "write, read, edit, run")
    script(robota, *WRITE_AND_RUN)
    assert replayed(robota, session.name, "--model", "live")["identical"]
    other = {"text": "Otherwise.", "calls": [call("edit_file", path="a.txt", old_string="one", new_string="eins")]}
    script(robota, *WRITE_AND_RUN[:2], other)
    found = replayed(robota, session.name, "--model", "live")["divergence"]
    assert found["kind"] == "reply" and found["where"].startswith("the calls of reply 3")
    assert "zwei" in found["recorded"] and "eins" in found["replayed"]
    script(robota, WRITE_AND_RUN[0], {"fault": {"kind": "authentication_failed", "message": "wrong key"}})
    failed = robota("replay", session.name, "--model", "live")
    assert failed.code == 2 and "The model did not respond: wrong key" in failed.stderr and not failed.stdout


def test_a_report_replays_elsewhere_without_key_or_files_and_holds_no_secret(robota: Robota, tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 12
    script(
        robota,
        {"calls": [call("write_to_file", path="a.txt", content=f"{robota.home}/x {key}\n")]},
        {"text": f"Written in {robota.home}."},
    )
    robota("-p", "write", *BYPASS)
    out = tmp_path / "report.zip"
    assert robota("report", sessions(robota)[-1].name, "-o", str(out)).code == 0
    refused = robota("report", sessions(robota)[-1].name, "-o", str(out))
    assert refused.code == 1 and "left unchanged" in refused.stderr
    elsewhere = Robota(tmp_path / "elsewhere", tmp_path / "other-home")
    elsewhere.workspace.mkdir()
    elsewhere.home.mkdir()
    report = replayed(elsewhere, str(out))
    assert report["identical"] and not report["comparedFiles"] and report["requests"] == 2
    with zipfile.ZipFile(out) as bundle:
        held = b"".join(bundle.read(name) for name in bundle.namelist())
    for secret in (str(robota.home).encode(), key.encode()):
        place = held.find(secret)
        assert place < 0, held[max(0, place - 100) : place + 100]
    assert list(elsewhere.workspace.iterdir()) == []


def test_what_a_session_says_is_secret_is_nowhere_in_its_report(robota: Robota, tmp_path: Path) -> None:
    """Passwords have no shape of their own: they are known by what stands before them, and then covered everywhere."""
    secrets = ("s3cretDbPw", "pw1", "correct-horse-battery", "Zm9vYmFyYmF6", "netrcPassw0rd", "x0auth9token8value")
    (robota.workspace / "conf.env").write_text(f"DB_PASSWORD={secrets[0]}\nMASTER_KEY='{secrets[2]}'\n")
    script(
        robota,
        {"reasoning": f"Is it {secrets[2]}?", "calls": [call("write_to_file", path=f"{secrets[0]}.txt", content="x")]},
        {
            "calls": [
                call("execute_command", command=f"seq 1 30000; cat conf.env; echo https://me:{secrets[1]}@h.example")
            ]
        },
        {"calls": [call("execute_command", command=f"echo 'Authorization: Bearer {secrets[3]}'; ls")]},
        {"text": f"machine h.example login me password {secrets[4]}"},
    )
    robota("-p", f"clone https://{secrets[5]}@h.example/x.git", *BYPASS)
    out = tmp_path / "report.zip"
    assert robota("report", "-o", str(out)).code == 0
    with zipfile.ZipFile(out) as bundle:
        held = b"".join(bundle.read(name) for name in bundle.namelist()).decode()
    assert [secret for secret in secrets if f"{secret}@" in held or (len(secret) > 3 and secret in held)] == []
    page = robota("sessions", "export", "--format", "markdown").stdout
    assert "DB_PASSWORD=[covered]" in page and [secret for secret in secrets[2:] if secret in page] == []
    elsewhere = Robota(tmp_path / "elsewhere", tmp_path / "other-home")
    elsewhere.workspace.mkdir()
    elsewhere.home.mkdir()
    assert replayed(elsewhere, str(out))["identical"]


def test_keys_in_files_that_the_log_has_covered_are_no_difference(robota: Robota) -> None:
    first, second = "ghp_" + "A1b2C3d4E5" * 4, "sk-" + "a1B2" * 12
    (robota.workspace / "AGENTS.md").write_text(f"The key is {first}.\n")
    (robota.workspace / "keys.txt").write_text(f"{first}\nold\n")
    script(
        robota,
        {"calls": [call("read_file", path="keys.txt")]},
        {"calls": [call("edit_file", path="keys.txt", old_string="old", new_string=second)]},
        {"calls": [call("edit_file", path="keys.txt", old_string=first, new_string="none")]},
        {"text": "Done."},
    )
    robota("-p", "add a key", *BYPASS)
    report = replayed(robota, sessions(robota)[-1].name)
    assert report["identical"] and report["comparedFiles"], report


PARTS: dict[tuple[str, ...], tuple[str, int]] = {
    ("--turns", "1"): ("aardvark", 3),
    ("--turns", "2-"): ("badger capybara", 6),
    ("--turns", "2-2", "--until-call", "call_1_1"): ("badger", 1),
    ("--cover", "Capybara", "--cover", "badger"): ("aardvark", 9),
}


@pytest.mark.slow
def test_a_report_may_hold_a_part_that_replays_by_itself(robota: Robota, tmp_path: Path) -> None:
    """A session with three prompts, of which each leaves a word in every place where words can be."""
    animals = ("aardvark", "badger", "capybara")
    for number, animal in enumerate(animals):
        script(
            robota,
            {"calls": [call("write_to_file", path=f"{animal}.txt", content=f"the {animal}\n")]},
            {"calls": [call("execute_command", command=f"echo {animal} | tr a-z A-Z; seq 1 20000")]},
            {"text": f"I like the {animal}."},
        )
        robota(*(["-c"] if number else []), "-p", f"tell of the {animal}", *BYPASS)
    elsewhere = Robota(tmp_path / "elsewhere", tmp_path / "other-home")
    elsewhere.workspace.mkdir()
    elsewhere.home.mkdir()
    for number, (options, (held, requests)) in enumerate(PARTS.items()):
        out = tmp_path / f"part{number}.zip"
        assert robota("report", sessions(robota)[-1].name, "-o", str(out), *options).code == 0
        with zipfile.ZipFile(out) as bundle:
            inside = b"".join(bundle.read(name) for name in bundle.namelist()).decode().lower()
        assert {animal for animal in animals if animal in inside} == set(held.split()), options
        report = replayed(elsewhere, str(out))
        assert report["identical"], (options, report)
        assert report["requests"] == report["allRequests"] == requests, options


def test_a_part_that_is_not_there_is_said(robota: Robota, tmp_path: Path) -> None:
    session = run(robota, "only words").name
    for options in (("--turns", "7"), ("--turns", "1-9"), ("--until-call", "call_9_9")):
        ended = robota("report", session, "-o", str(tmp_path / "x.zip"), *options)
        assert ended.code == 3 and "There is no" in ended.stderr, options
    for turns in ("x", "0", "3-2", "-", "2-x"):
        ended = robota("report", session, "-o", str(tmp_path / "x.zip"), f"--turns={turns}")
        assert ended.code == 1 and "Nothing was written" in ended.stderr, turns
    assert not (tmp_path / "x.zip").exists()


def test_a_session_that_was_resumed_is_replayed_to_its_end(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content=TEXT)]}, {"text": "Written."})
    robota("-p", "write", *BYPASS)
    (robota.workspace / "a.txt").write_text(TEXT + "by hand\n")
    script(
        robota,
        {"calls": [call("read_file", path="a.txt")]},
        {"calls": [call("edit_file", path="a.txt", old_string="by hand", new_string="by an agent")]},
        {"text": "Changed."},
    )
    assert robota("-c", "-p", "and now change it", *BYPASS).code == 0
    report = replayed(robota, sessions(robota)[-1].name)
    assert report["identical"] and report["requests"] == 5 and report["comparedFiles"]


def test_a_full_disk_is_said_and_leaves_nothing(robota: Robota) -> None:
    session = run(robota, "only words")
    ended = robota("replay", session.name, env={"TMPDIR": "/dev/full"})
    assert ended.code in (0, 2) and "Traceback" not in ended.stderr
    unwritable = robota.workspace / "none"
    (robota.workspace / "none").write_text("a file, no directory")
    assert "Traceback" not in robota("replay", session.name, env={"TMPDIR": str(unwritable)}).stderr


def test_without_checkpoints_only_the_log_is_compared(robota: Robota) -> None:
    script(robota, *WRITE_AND_RUN)
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    write_settings(robota, {**settings, "checkpoints": {"enabled": False}})
    robota("-p", "do it", *BYPASS)
    report = replayed(robota, sessions(robota)[-1].name)
    assert report["identical"] and not report["comparedFiles"] and "are missing" in report["notes"][0]
    live = robota("replay", sessions(robota)[-1].name, "--tools", "live")
    assert live.code == 2 and "no checkpoint of its start" in live.stderr


def test_commands_of_a_log_that_is_not_ours_are_never_run(robota: Robota, tmp_path: Path) -> None:
    session = run(robota, "write, read, edit, run")
    planted = session.with_name("planted")
    planted.mkdir()
    (planted / "log.jsonl").write_bytes((session / "log.jsonl").read_bytes())
    refused = robota("replay", "planted", "--tools", "live")
    assert refused.code == 2 and "not written on this machine" in refused.stderr
    rewritten(session, lambda record: record["payload"].pop("name", None))
    changed = robota("replay", session.name, "--tools", "live")
    assert changed.code == 2 and "The log was changed" in changed.stderr


@pytest.mark.parametrize("way", ["imported", "taken up", "forked", "forked after it was taken up"])
def test_nor_does_it_become_ours_by_keeping_it(robota: Robota, way: str) -> None:
    """A bundle from another user, or a log found in a directory: the author of its commands is unknown."""
    session = run(robota, "write, read, edit, run")
    if way == "imported":
        assert robota("sessions", "export", session.name, "--format", "bundle", "--no-redact", "-o", "b.zip").code == 0
        kept = json.loads(robota("sessions", "import", "b.zip", "--json").stdout)[0]["id"]
    else:
        planted = session.with_name("planted")
        planted.mkdir()
        (planted / "log.jsonl").write_bytes((session / "log.jsonl").read_bytes())
        if way != "forked":
            script(robota, {"text": "Fine."})
            assert robota("-p", "go on", "--resume", "planted", "--yes").code == 0
        kept = "planted"
        if way != "taken up":
            kept = json.loads(robota("sessions", "fork", "planted", "--json").stdout)["id"]
    refused = robota("replay", kept, "--tools", "live")
    assert refused.code == 2 and "none of its commands is run again" in refused.stderr, refused
    assert "came from elsewhere" in refused.stderr


def test_what_cannot_be_run_again_is_said(robota: Robota, tmp_path: Path) -> None:
    assert robota("replay", "nothing").code == 3
    (robota.workspace / "no.zip").write_bytes(b"no zip")
    ended = robota("replay", "no.zip")
    assert ended.code == 2 and "is not a report" in ended.stderr
    session = run(robota, "only words")
    lines = (session / "log.jsonl").read_bytes().splitlines(keepends=True)
    (session / "log.jsonl").write_bytes(b"".join([lines[0], b"\x00\xff{damage\n", b'{"half'])[:-1])
    ended = robota("replay", session.name)
    assert ended.code == 2 and "nothing to run again" in ended.stderr


def test_a_key_in_a_file_or_its_name_is_not_shown(robota: Robota) -> None:
    """The log is redacted, but the files of its checkpoints are not."""
    key = "ghp_" + "a1B2" * 9
    command = f"name=ghp_; name=${{name}}{'a1B2' * 9}; echo {'x' * 50} $name $(date +%N) > file-$name"
    script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "Done."})
    robota("-p", "run", *BYPASS)
    ended = robota("replay", sessions(robota)[-1].name, "--tools", "live")
    if "no sandbox" in ended.stderr:
        pytest.skip("no sandbox here")
    words = ended.stdout + ended.stderr
    assert "files: file-" in words and key[:12] not in words and key[-12:] not in words, words
