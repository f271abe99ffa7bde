"""Slash commands typed in a real terminal."""

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

ANSWER = {"text": "First answer.", "usage": {"input": 1200, "output": 30, "cost": 0.5}}


def test_help_names_every_command_and_one_command_explains_itself(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/help")
        shown = terminal.wait_for("> ")
        assert "/exit" in shown and "/mode [MODE]" in shown and "acceptEdits" not in shown
        terminal.press("/help mode\n")
        shown = terminal.wait_for("> ")
        assert "/exit" not in shown and "acceptEdits" in shown
        terminal.press("/help nothing\n")
        terminal.wait_for("There is no command /nothing.")
        terminal.wait_for("> ")
        terminal.press("/exit\n")
        assert terminal.end() == 0


def test_cost_status_and_todos_show_the_state_of_the_session(robota: Robota) -> None:
    todo = call("update_todo_list", todos="[x] look\n[ ] mend")
    script(robota, {"calls": [todo]}, ANSWER)
    with Terminal(robota, "-n", "roof", "go") as terminal:
        terminal.wait_for("First answer.")
        terminal.answer("> ", "/cost")
        # The model reported usage of the second request only.
        assert "(1 request estimated)" in terminal.wait_for("cost: $0.5000")
        terminal.answer("> ", "/status")
        assert "name: roof" in terminal.wait_for("permission mode: default")
        terminal.answer("> ", "/context")
        terminal.wait_for("tokens")
        terminal.wait_for("system prompt")
        terminal.answer("> ", "/todos")
        terminal.wait_for("[x] look")
        terminal.wait_for("[ ] mend")


def test_a_mode_is_chosen_by_number_before_the_first_task(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/mode")
        shown = terminal.wait_for("press Enter to cancel.")
        number = next(line.split()[0] for line in shown.splitlines() if "architect" in line)
        terminal.answer("> ", number)
        terminal.wait_for("mode: architect")
        terminal.answer("> ", "/status")
        terminal.wait_for("mode: architect")


def test_the_mode_command_also_takes_permission_modes(robota: Robota) -> None:
    script(robota, ANSWER)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/mode plan")
        terminal.wait_for("permission mode: plan")
        terminal.answer("> ", "/permissions everything")
        terminal.wait_for("There is no permission mode everything.")
        terminal.answer("> ", "/mode everything")
        terminal.wait_for("There is no mode 'everything'. The modes are code,")


def test_after_clear_the_next_prompt_starts_a_new_task(robota: Robota) -> None:
    script(robota, ANSWER, {"text": "Second answer."})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First answer.")
        terminal.answer("> ", "/clear")
        terminal.wait_for("starts a new conversation")
        signs = terminal.wait_for("> ")
        terminal.press("something else\n")
        assert "> " not in terminal.wait_for("Second answer."), f"the sign stood there already: {signs}"
        terminal.answer("> ", "/cost")
        assert "0.5" not in terminal.wait_for("cost: ")


def test_a_command_that_has_to_wait_is_refused_while_the_agent_works(robota: Robota) -> None:
    slow = {"calls": [call("execute_command", command="until test -e go; do sleep 0.05; done")]}
    script(robota, slow, ANSWER)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("Bash until")
        terminal.press("/clear\n")
        terminal.wait_for("/clear is not available while the agent is working.")
        terminal.press("/status\n")
        terminal.wait_for("permission mode: default")
        (robota.workspace / "go").touch()
        terminal.wait_for("First answer.")


def test_an_unknown_command_names_the_nearest_and_a_path_is_no_command(robota: Robota) -> None:
    script(robota, {"text": "A file."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/stauts")
        terminal.wait_for("There is no command /stauts. Did you mean /status?")
        terminal.answer("> ", "/etc/hosts is what?")
        terminal.wait_for("A file.")


def test_history_shows_the_conversation_so_far(robota: Robota) -> None:
    script(robota, {"text": "The first answer."}, {"text": "The second answer."})
    with Terminal(robota, "first") as terminal:
        terminal.wait_for("The first answer.")
        terminal.answer("> ", "second")
        terminal.wait_for("The second answer.")
        terminal.answer("> ", "/history")
        shown = terminal.wait_for("The second answer.")
        assert "> first" in shown and "The first answer." in shown and "> second" in shown
        terminal.answer("> ", "/history 2")
        terminal.wait_for("earlier messages: /history 2 ")
        terminal.answer("> ", "/history 2 1")
        terminal.wait_for("There are no earlier messages.")
        terminal.answer("> ", "/history two")
        terminal.wait_for("Usage: /history [COUNT [ROW]]. Nothing was changed.")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
