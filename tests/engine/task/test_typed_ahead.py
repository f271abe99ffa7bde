"""What a user types while a task works: it waits for the end of the turn, or goes with the next request."""

from pathlib import Path

from robota.protocol.commands import Accepted, EditQueuedMessage, QueueMessage
from robota.protocol.conversation import TextBlock, UserTurn
from tests.engine.stage import Stage, call, play

COMMAND = {"calls": [call("execute_command", command="touch x")]}
QUESTION = {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "one"}])]}


def user_texts(stage: Stage) -> list[str]:
    """What the model was told in the user's turns, in order."""
    task = stage.logged().current
    assert task is not None
    blocks = [block for turn in task.conversation().turns if isinstance(turn, UserTurn) for block in turn.content]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def test_words_for_later_wait_until_the_model_has_answered(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("command")
        await stage.submit(QueueMessage(text="later", after_turn=True))
        await stage.submit(QueueMessage(text="now"))
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        await stage.until_ask("completion_result")
        assert stage.says("text")[1:] == ["The turn.", "The next turn."]
        assert user_texts(stage) == ["first", "now", "later"]

    play(workspace, [COMMAND, {"text": "The turn."}, {"text": "The next turn."}], story)


def test_words_for_later_answer_no_question_and_can_be_sent_at_once_after_all(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("command")
        receipt = await stage.submit(QueueMessage(text="later", after_turn=True))
        assert isinstance(receipt, Accepted) and receipt.id is not None
        await stage.answer("yesButtonClicked")
        ask = await stage.until_ask("followup")
        await stage.submit(QueueMessage(text="also later", after_turn=True))
        assert [entry.text for entry in stage.session.state().message_queue] == ["later", "also later"]
        await stage.submit(EditQueuedMessage(id=receipt.id, text="sooner", after_turn=False))
        await stage.answer("messageResponse", "one", ts=ask.ts)
        await stage.until_ask("completion_result")
        await stage.until_ask("completion_result")
        assert user_texts(stage) == ["first", "sooner", "also later"]

    play(workspace, [COMMAND, QUESTION, {"text": "The turn."}, {"text": "The next turn."}], story)
