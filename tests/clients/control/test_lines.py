"""The lines of the control protocol, as a program without an SDK writes and reads them."""

import json
import subprocess
from typing import Any

import pytest

from robota.cli.command_line import UsageError
from robota.cli.run.control.flags import is_control, read_flags
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

COMMAND = [str(EXECUTABLE), "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]
ASKING = [*COMMAND, "--permission-prompt-tool", "stdio"]
WRITE = call("write_to_file", path="a.txt", content="a\n")


def prompt(text: str, **more: Any) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}, **more})


def request(id: str, subtype: str, **fields: Any) -> str:
    return json.dumps({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})


def start(robota: Robota, command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def spoken(robota: Robota, *lines: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and all lines, after these lines and the end of the input."""
    with start(robota, COMMAND) as process:
        out, _ = process.communicate("\n".join(lines) + "\n", timeout=60)
    return process.returncode, [json.loads(line) for line in out.splitlines()]


def test_a_prompt_alone_is_enough_and_the_end_of_the_input_does_not_stop_it(robota: Robota) -> None:
    script(robota, {"calls": [call("list_files", path=".")]}, {"text": "Done."})
    code, lines = spoken(robota, prompt("go"))
    assert (code, lines[0]["subtype"]) == (0, "init")
    [result] = [line for line in lines if line["type"] == "result"]
    assert (result["subtype"], result["result"]) == ("success", "Done.")


def test_garbage_is_answered_and_changes_nothing(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    garbage = ["{", "[1]", "nothing", '{"type": "user"}', '{"type": "user", "message": 3}', "x" * (17 << 20), "\x00"]
    stray = json.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": "never"}})
    bare = '{"subtype": "interrupt"}'
    code, lines = spoken(robota, *garbage, stray, bare, request("1", "launch_missiles"), prompt("go"))
    assert code == 0
    assert [line["result"] for line in lines if line["type"] == "result"] == ["Done."]
    [refused] = [line["response"] for line in lines if line["type"] == "control_response"]
    assert refused["subtype"] == "error" and "launch_missiles" in refused["error"]
    complaints = [line["content"] for line in lines if line.get("level") == "warning"]
    assert len(complaints) == len(garbage) + 1 and all("ignored" in each for each in complaints)


def test_an_introduction_brings_the_prompt_and_the_schema(robota: Robota) -> None:
    """The TypeScript SDK says there what others say with options, and sends its prompt without waiting."""
    script(robota, {"text": "Five."}, {"text": '{"count": 5}'})
    shape = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    said = {
        "systemPrompt": ["You count files.", "Be brief."],
        "appendSystemPrompt": "In English.",
        "sdkMcpServers": None,
    }
    code, lines = spoken(robota, request("1", "initialize", hooks=None, jsonSchema=shape, **said), prompt("go"))
    assert code == 0
    [result] = [line for line in lines if line["type"] == "result"]
    assert result["structured_output"] == {"count": 5}
    [session] = sessions(robota)
    log = (session / "log.jsonl").read_text(encoding="utf-8")
    assert "You count files.\\n\\nBe brief." in log and "In English." in log


def test_a_failed_turn_is_the_exit_code(robota: Robota) -> None:
    script(robota, {"error": {"status": 400, "message": "no such model"}})
    code, lines = spoken(robota, prompt("go"))
    assert code != 0 and lines[-1]["subtype"] in ("session_state_changed", "error_during_execution")
    [result] = [line for line in lines if line["type"] == "result"]
    assert result["is_error"] and result["errors"]


@pytest.mark.parametrize("leaves", ["closes its end", "is killed"])
def test_a_program_that_leaves_with_a_question_open_has_allowed_nothing(robota: Robota, leaves: str) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Not written."})
    with start(robota, ASKING) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(request("1", "initialize", hooks=None) + "\n" + prompt("go") + "\n")
        process.stdin.flush()
        session_id = ""
        for line in process.stdout:
            read = json.loads(line)
            session_id = read.get("session_id") or session_id
            if read["type"] == "control_request":
                break
        assert read["request"]["tool_name"] == "Write"
        process.stdin.close()
        if leaves == "is killed":
            process.stdout.close()
        process.wait(timeout=60)
    assert not (robota.workspace / "a.txt").exists()
    script(robota, {"text": "Resumed."})
    assert robota("-p", "-r", session_id, "go on").stdout == "Resumed.\n"


def test_a_signal_ends_a_session_that_waits_for_prompts(robota: Robota) -> None:
    """The SDKs end a program in this way if it does not leave by itself."""
    script(robota, {"text": "Done."})
    with start(robota, COMMAND) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(prompt("go") + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if '"state":"idle"' in line:
                break
        process.terminate()
        assert process.wait(timeout=60) == 0


def test_options_are_read_in_both_spellings() -> None:
    words = ["--model", "m", "--max-turns", "3", "--input-format", "stream-json", "--system-prompt", ""]
    joined = ["--model=m", "--max-turns=3", "--input-format=stream-json", "--permission-prompt-tool=stdio"]
    assert is_control(words) and is_control(joined) and not is_control(["-p", "stream-json"])
    assert (
        read_flags(words).argv
        == read_flags(joined).argv
        == ("--output-format=stream-json", "--model=m", "--max-turns=3")
    )
    assert (read_flags(words).asks_program, read_flags(joined).asks_program) == (False, True)


def test_options_without_a_meaning_are_told_and_dropped_with_their_values() -> None:
    argv = [
        "--betas",
        "a,b",
        "--channels=x",
        "--task-budget=5",
        "--max-turns",
        "3",
        "--input-format=stream-json",
    ]
    read = read_flags(argv)
    assert read.argv == ("--output-format=stream-json", "--max-turns=3")
    betas, channels, budget = read.notices
    assert "--betas" in betas and "--channels" in channels and "--max-budget-usd" in budget


def test_an_option_that_cannot_be_left_out_safely_is_refused() -> None:
    with pytest.raises(UsageError, match="--managed-settings is not supported"):
        read_flags(["--managed-settings", '{"permissions": {"deny": ["Bash"]}}', "--input-format=stream-json"])


def test_servers_inside_the_program_are_told_from_others() -> None:
    config = {"mcpServers": {"own": {"type": "sdk", "name": "own"}, "other": {"command": "server"}}}
    read = read_flags(["--mcp-config", json.dumps(config), "--input-format", "stream-json"])
    assert read.sdk_servers == ("own",)
    assert json.loads(read.argv[-1].partition("=")[2]) == {"mcpServers": {"other": {"command": "server"}}}
