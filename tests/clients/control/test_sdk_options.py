"""Options of Claude's Python SDK: agents, tools, settings, plugins, requests while a turn runs."""

import asyncio
import json
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions, trust
from tests.clients.control.claude_program import allow, collected, in_client, of_kind, one_prompt, sdk, turn
from tests.harness.cli import Robota

AGENT = {"subagent_type": "reviewer", "description": "review a", "prompt": "review it"}


def init_of(messages: list[Any]) -> dict[str, Any]:
    return next(each.data for each in of_kind(messages, "SystemMessage") if each.subtype == "init")


def test_agents_of_the_program_work_with_their_tools_and_their_lines_name_the_call(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("agent", **AGENT)]},
        {"task": "review it", "calls": [call("write_to_file", path="a.txt", content="x")]},
        {"task": "review it", "expect": {"result": "may not use"}, "text": "Looks fine."},
        {"expect": {"result": "Looks fine."}, "text": "Reviewed."},
    )
    reviewer = sdk.AgentDefinition(description="Reviews.", prompt="You review.\nBe strict.", tools=["Read"])
    messages = one_prompt(robota, agents={"reviewer": reviewer}, permission_mode="bypassPermissions")
    assert "reviewer" in init_of(messages)["agents"]
    assert of_kind(messages, "ResultMessage")[0].result == "Reviewed."
    replies = of_kind(messages, "AssistantMessage")
    [started] = [block.id for block in replies[0].content if getattr(block, "name", "") == "Agent"]
    assert [each.parent_tool_use_id for each in replies] == [None, started, started, None]
    [begun] = of_kind(messages, "TaskStartedMessage")
    assert begun.tool_use_id == started
    assert not (robota.workspace / "a.txt").exists()
    logs = [path.read_text() for path in robota.workspace.glob(".robota/sessions/*.agent*/log.jsonl")]
    assert any("You review.\\nBe strict." in log for log in logs)


def test_an_agent_is_stopped_by_the_program(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("agent", **{**AGENT, "subagent_type": "general-purpose"}, run_in_background=True)]},
        {"task": "review it", "calls": [call("execute_command", command="sleep 600")]},
        {"calls": [call("agent_wait")]},
        {"text": "Stopped."},
    )

    async def work(client: Any) -> Any:
        await client.query("go")
        async for message in client.receive_response():
            if type(message).__name__ == "TaskStartedMessage" and message.task_type == "local_agent":
                await client.stop_task(message.task_id)
        return message

    assert in_client(robota, work, allowed_tools=["Bash"]).result == "Stopped."


def test_no_other_tools_are_offered_than_the_program_names(robota: Robota) -> None:
    script(robota, {"expect": {"tools": ["read_file"]}, "text": "Done."})
    assert init_of(one_prompt(robota, tools=["Read", "TodoWrite"]))["tools"] == ["Read", "TodoWrite", "Output"]
    script(robota, {"text": "Done."})
    assert init_of(one_prompt(robota, tools=[]))["tools"] == []


@pytest.mark.parametrize(("sources", "is_read"), [(["user"], False), (["project"], True), ([], False), (None, True)])
def test_the_configuration_of_a_project_is_a_setting_source(robota: Robota, sources: Any, is_read: bool) -> None:
    """What the project forbids applies in any case."""
    commands = robota.workspace / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "ship.md").write_text("Ship it.")
    (robota.workspace / ".claude/settings.json").write_text('{"permissions": {"deny": ["Write"]}}')
    trust(robota)
    write = call("write_to_file", path="a.txt", content="x")
    script(robota, {"calls": [write]}, {"text": "Done."})
    messages = one_prompt(robota, setting_sources=sources, permission_mode="bypassPermissions")
    assert ("ship" in init_of(messages)["slash_commands"]) is is_read
    assert not (robota.workspace / "a.txt").exists()


def test_a_plugin_of_the_program_brings_its_commands_but_runs_nothing_from_the_workspace(robota: Robota) -> None:
    for directory in (robota.home / "outside", robota.workspace / "inside"):
        (directory / ".claude-plugin").mkdir(parents=True)
        (directory / ".claude-plugin/plugin.json").write_text(json.dumps({"name": directory.name}))
        (directory / "commands").mkdir()
        (directory / "commands/greet.md").write_text("Greet them.")
        (directory / "hooks").mkdir()
        hook = {"type": "command", "command": f"touch {robota.home}/ran-{directory.name}"}
        (directory / "hooks/hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    script(robota, {"text": "Hello."})
    told: list[str] = []
    plugins = [{"type": "local", "path": str(robota.home / "outside")}]
    plugins.append({"type": "local", "path": str(robota.workspace / "inside")})
    messages = one_prompt(robota, plugins=plugins, stderr=told.append)
    assert [each["name"] for each in init_of(messages)["plugins"]] == ["outside", "inside"]
    assert {"outside:greet", "inside:greet"} <= set(init_of(messages)["slash_commands"])
    assert (robota.home / "ran-outside").exists() and not (robota.home / "ran-inside").exists()
    assert any("inside are not used" in line for line in told)


def test_a_todo_list_has_the_form_of_claude_code(robota: Robota) -> None:
    script(robota, {"calls": [call("update_todo_list", todos="[x] one\n[-] two")]}, {"text": "Done."})
    replies = of_kind(one_prompt(robota), "AssistantMessage")
    [written] = [block for block in replies[0].content if getattr(block, "name", "") == "TodoWrite"]
    assert [(each["content"], each["status"]) for each in written.input["todos"]] == [
        ("one", "completed"),
        ("two", "in_progress"),
    ]


def test_requests_are_carried_out_also_without_a_callback(robota: Robota) -> None:
    """Whoever sends a request is the program, whatever its prompts are."""
    script(robota, {"text": "One."}, {"text": "Two."})

    async def work(client: Any) -> Any:
        await turn(client, "one")
        ask = client._query._send_control_request
        await ask({"subtype": "rename_session", "title": "My work"})
        await ask({"subtype": "set_model", "model": None})
        assert (await ask({"subtype": "get_settings"}))["applied"]["model"] == "scripted"
        assert (await ask({"subtype": "get_usage"}))["session"]["model_usage"].keys() == {"scripted"}
        assert (await ask({"subtype": "cancel_async_message", "message_uuid": "x"})) == {"cancelled": False}
        (robota.workspace / "notes.md").write_text("x")
        found = await ask({"subtype": "file_suggestions", "query": "not"})
        assert [each["path"] for each in found["suggestions"]] == ["notes.md"]
        with pytest.raises(Exception, match="cannot be changed in a session: env"):
            await ask({"subtype": "apply_flag_settings", "settings": {"env": {}}})
        return await turn(client, "two")

    assert in_client(robota, work).result == "Two."
    [session] = sessions(robota)
    assert "My work" in (session / "log.jsonl").read_text()


def test_prompts_wait_by_priority_and_can_be_taken_back(robota: Robota) -> None:
    script(robota, {"calls": [call("list_files", path=".")]}, {"text": "One."}, {"text": "Two."}, {"text": "Three."})
    asked = asyncio.Event()

    async def hold(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.set()
        return sdk.PermissionResultAllow()

    def line(text: str, uuid: str, **more: Any) -> dict[str, Any]:
        content = {"role": "user", "content": text}
        return {"type": "user", "message": content, "parent_tool_use_id": None, "uuid": uuid, **more}

    async def work(client: Any) -> list[str]:
        async def lines() -> Any:
            yield line("first", "u1")
            yield line("last", "u2", priority="later")
            yield line("taken back", "u3")
            yield line("second", "u4")
            yield line("only said", "u5", shouldQuery=False)

        await client.query(lines())
        ask = client._query._send_control_request
        assert (await ask({"subtype": "cancel_async_message", "message_uuid": "u3"})) == {"cancelled": True}
        prompts: list[str] = []
        while len(prompts) < 3:
            prompts += [
                each.content
                for each in await collected(client)
                if type(each).__name__ == "UserMessage" and each.uuid and isinstance(each.content, str)
            ]
        return prompts

    prompts = in_client(robota, work, extra_args={"replay-user-messages": None}, can_use_tool=allow)
    assert prompts == ["first", "second", "last"]
    [session] = sessions(robota)
    assert "only said" in (session / "log.jsonl").read_text()


@pytest.mark.parametrize("mode", ["bypassPermissions", "nonsense"])
def test_a_callback_cannot_switch_to_a_mode_that_is_forbidden(robota: Robota, mode: Any) -> None:
    """Its answer counts; what comes after it is asked as before."""
    write = [{"calls": [call("write_to_file", path=name, content="x")]} for name in ("a.txt", "b.txt")]
    script(robota, *write, {"text": "Done."})
    path = robota.home / ".robota/settings.json"
    forbids = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    path.write_text(json.dumps({**json.loads(path.read_text()), **forbids}))
    asked: list[str] = []

    async def widen(tool: str, given: dict[str, Any], context: Any) -> Any:
        asked.append(given["file_path"])
        return sdk.PermissionResultAllow(updated_permissions=[sdk.PermissionUpdate(type="setMode", mode=mode)])

    assert in_client(robota, lambda client: turn(client, "go"), can_use_tool=widen).result == "Done."
    assert len(asked) == 2
