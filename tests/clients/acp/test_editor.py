"""`robota acp` as an editor uses it: sessions, prompts, approvals, questions, options."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import RequestFailed, editing, selects, words
from tests.harness.cli import Robota

WRITE = call("write_to_file", path="a.txt", content="one\ntwo\n")
SHELL = call("execute_command", command="pwd > here.txt; echo made")


def test_a_turn_shows_thoughts_answer_calls_diff_and_output(robota: Robota) -> None:
    script(robota, {"text": "I begin.", "reasoning": "Hm.", "calls": [WRITE, SHELL]}, {"text": "Done."})
    with editing(robota) as editor:
        introduced = editor.introduce()
        assert introduced["protocolVersion"] == 1 and introduced["agentInfo"]["name"] == "robota"
        assert introduced["authMethods"] and introduced["agentCapabilities"]["loadSession"] is True
        session = editor.call("session/new", cwd=str(robota.workspace), mcpServers=[])["sessionId"]
        editor.answers["session/request_permission"] = selects("allow_once")
        assert editor.prompt(session, "go") == "end_turn"
        assert editor.said() == "I begin.Done." and editor.said("agent_thought_chunk") == "Hm."
        assert "user_message_chunk" not in {each["sessionUpdate"] for each in editor.updates}
        write, shell = editor.calls().values()
        assert (write["kind"], write["status"], shell["kind"], shell["status"]) == (
            "edit",
            "completed",
            "execute",
            "completed",
        )
        path = str(robota.workspace.resolve() / "a.txt")
        assert write["content"] == [{"type": "diff", "path": path, "newText": "one\ntwo\n"}]
        assert write["locations"] == [{"path": path}] and write["rawInput"]["path"] == "a.txt"
        assert "made" in shell["content"][0]["content"]["text"]
    assert (robota.workspace / "a.txt").read_text() == "one\ntwo\n"


def test_a_permission_request_follows_the_announced_call_and_has_what_decides(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Then not."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        seen: list[set[str]] = []

        def reject(params: dict[str, Any]) -> Any:
            seen.append({each["toolCallId"] for each in editor.updates if each["sessionUpdate"] == "tool_call"})
            before = editor.calls()[params["toolCall"]["toolCallId"]]
            assert before["status"] == "pending" and before["content"] == params["toolCall"]["content"]
            return selects("reject_once")(params)

        editor.answers["session/request_permission"] = reject
        assert editor.prompt(session, "go") == "end_turn"
        [asked] = editor.requests
        shown = asked["params"]["toolCall"]
        assert shown["toolCallId"] in seen[0] and shown["status"] == "pending" and shown["title"] == "Write a.txt"
        assert {"diff", "content"} == {each["type"] for each in shown["content"]}
        assert editor.calls()[shown["toolCallId"]]["status"] == "failed"
    assert not (robota.workspace / "a.txt").exists()


def test_always_allow_grants_the_offered_rule_for_the_session(robota: Robota) -> None:
    command = call("execute_command", command="touch made")
    script(robota, {"calls": [command]}, {"calls": [command]}, {"text": "Twice."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = selects("allow_always")
        assert editor.prompt(session, "go") == "end_turn"
        assert len(editor.requests) == 1 and editor.said() == "Twice."
        names = [each["name"] for each in editor.requests[0]["params"]["options"]]
        assert any("touch made" in name and name.endswith("in this session") for name in names)


@pytest.mark.parametrize(
    "result", [{"outcome": {"outcome": "cancelled"}}, {}, {"outcome": {"outcome": "selected", "optionId": "x"}}]
)
def test_whatever_is_not_clearly_a_yes_is_a_no(robota: Robota, result: Any) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Not."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = lambda params: result
        editor.prompt(session, "go")
    assert not (robota.workspace / "a.txt").exists()


def test_a_question_is_a_form_or_ends_the_turn_and_the_next_prompt_answers_it(robota: Robota) -> None:
    question = call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}, {"text": "blue"}])
    for forms in (True, False):
        script(robota, {"calls": [question]}, {"text": "Taken."})
        with editing(robota) as editor:
            session = editor.open(robota.workspace, **({"elicitation": {"form": {}}} if forms else {}))
            editor.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"choice": "blue"}}
            assert editor.prompt(session, "go") == "end_turn"
            if forms:
                [asked] = editor.requests
                assert asked["params"]["message"] == "Which?" and editor.said() == "Taken."
            else:
                assert editor.said() == "Which?\n1. red\n2. blue"
                assert editor.prompt(session, "red") == "end_turn" and editor.said().endswith("Taken.")


def test_cancelling_ends_the_turn_as_cancelled_and_nothing_runs(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "After all."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)

        def cancel(params: dict[str, Any]) -> Any:
            editor.send({"method": "session/cancel", "params": {"sessionId": session}})
            return {"outcome": {"outcome": "cancelled"}}

        editor.answers["session/request_permission"] = cancel
        assert editor.prompt(session, "go") == "cancelled"
        assert not (robota.workspace / "a.txt").exists()
        assert editor.prompt(session, "go on") == "end_turn" and "After all." in editor.said()


def test_a_prompt_that_comes_early_cancels_the_one_that_runs(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Second."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = lambda params: None  # the user thinks
        first = editor.start("session/prompt", sessionId=session, prompt=[words("first")])
        while not editor.requests:
            editor.read()
        second = editor.start("session/prompt", sessionId=session, prompt=[words("second")])
        assert editor.result(first)["stopReason"] == "cancelled"
        assert editor.result(second)["stopReason"] == "end_turn" and "Second." in editor.said()


def test_modes_and_options_can_be_changed_and_are_told(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        editor.introduce()
        new = editor.call("session/new", cwd=str(robota.workspace), mcpServers=[])
        session = new["sessionId"]
        assert new["modes"]["currentModeId"] == "default"
        assert {"plan", "acceptEdits"} <= {each["id"] for each in new["modes"]["availableModes"]}
        commands = editor.until("available_commands_update")["availableCommands"]
        assert {"help", "context"} <= {each["name"] for each in commands}
        editor.call("session/set_mode", sessionId=session, modeId="plan")
        options = editor.call("session/set_config_option", sessionId=session, configId="mode", value="ask")[
            "configOptions"
        ]
        values = {each["id"]: each["currentValue"] for each in options}
        assert (values["mode"], values["permissions"], values["model"]) == ("ask", "plan", "scripted")
        for method, wrong in (
            ("session/set_mode", {"modeId": "x"}),
            ("session/set_config_option", {"configId": "x", "value": "y"}),
        ):
            with pytest.raises(RequestFailed):
                editor.call(method, sessionId=session, **wrong)


def test_another_model_continues_the_same_session(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.prompt(session, "hi")
        options = editor.call("session/set_config_option", sessionId=session, configId="model", value="other")[
            "configOptions"
        ]
        assert {each["id"]: each["currentValue"] for each in options}["model"] == "other"
        editor.updates.clear()
        assert editor.prompt(session, "again") == "end_turn" and "Hello." in editor.said()


def test_slash_commands_are_answered_in_the_turn(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        assert editor.prompt(session, "/help") == "end_turn" and "/context" in editor.said()
        editor.updates.clear()
        editor.prompt(session, "/nonsense")
        assert "nonsense" in editor.said()


def test_sessions_are_listed_loaded_with_their_conversation_and_resumed_without(robota: Robota) -> None:
    script(robota, {"text": "I write.", "calls": [WRITE]}, {"text": "Done."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = selects("allow_once")
        editor.prompt(session, "please write")
        editor.call("session/close", sessionId=session)
        with pytest.raises(RequestFailed):
            editor.prompt(session, "still there?")
    script(robota, {"text": "Again."})
    with editing(robota) as editor:
        editor.introduce()
        [listed] = editor.call("session/list", cwd=str(robota.workspace))["sessions"]
        assert (listed["sessionId"], listed["title"]) == (session, "please write")
        editor.call("session/load", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        assert editor.said("user_message_chunk") == "please write" and editor.said() == "I write.Done."
        [write] = editor.calls().values()
        assert write["status"] == "completed" and write["content"][0]["newText"] == "one\ntwo\n"
        assert editor.prompt(session, "and now") == "end_turn" and editor.said().endswith("Again.")
    with editing(robota) as editor:
        editor.introduce()
        editor.call("session/resume", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        assert editor.said() == "" and editor.said("user_message_chunk") == ""


def test_files_and_links_of_a_prompt_reach_the_model(robota: Robota, tmp_path: Path) -> None:
    (robota.workspace / "notes.md").write_text("saved words")
    root = robota.workspace.resolve()
    script(robota, {"text": "Read."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        link = {"type": "resource_link", "uri": f"file://{root}/notes.md", "name": "notes.md"}
        open_file = {"type": "resource", "resource": {"uri": f"file://{root}/b.md", "text": "unsaved </file> words"}}
        assert editor.prompt(session, "look at ", link, open_file) == "end_turn"
    [log] = robota.workspace.glob(".robota/sessions/*/log.jsonl")
    text = log.read_text()
    assert "saved words" in text and "unsaved &lt;/file> words" in text


def test_a_failing_model_is_an_error_and_no_invented_stop_reason(robota: Robota) -> None:
    script(robota, {"fault": {"kind": "authentication_failed"}}, {"text": "Works."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        with pytest.raises(RequestFailed):
            editor.prompt(session, "go")
        assert editor.prompt(session, "once more") == "end_turn" and "Works." in editor.said()


def test_a_plan_is_announced_before_it_is_asked_about(robota: Robota) -> None:
    script(
        robota, {"calls": [call("present_plan", plan="# Plan\n1. Write a.txt")]}, {"calls": [WRITE]}, {"text": "Done."}
    )
    with editing(robota, "--permission-mode", "plan") as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = selects("allow_once")
        assert editor.prompt(session, "go") == "end_turn"
        asked = editor.requests[0]["params"]["toolCall"]
        assert "Write a.txt" in asked["content"][0]["content"]["text"]
        assert editor.calls()[asked["toolCallId"]]["status"] == "completed"
    assert (robota.workspace / "a.txt").exists()


def test_a_prompt_that_is_cancelled_at_once_does_nothing(robota: Robota) -> None:
    script(robota, {"calls": [WRITE], "delayMs": 500}, {"text": "Not."})
    with editing(robota, "--permission-mode", "bypassPermissions") as editor:
        session = editor.open(robota.workspace)
        running = editor.start("session/prompt", sessionId=session, prompt=[words("go")])
        editor.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert editor.result(running)["stopReason"] == "cancelled"
        assert editor.prompt(session, "/status") == "end_turn"
    assert not (robota.workspace / "a.txt").exists()
