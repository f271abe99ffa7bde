"""A server that counts no tokens: the size of the context is estimated, and said to be an estimate."""

from pathlib import Path

from robota.protocol.events import ContextUpdate, TaskTokenUsageUpdated
from tests.engine.context.context_stage import DONE, ContextStage, play_in_small_window, reading, write_files

COUNTED = {"input": 20_000, "output": 10}


def test_without_counts_the_context_grows_by_estimates(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        sizes = [update for update in stage.events_of(ContextUpdate) if update.used_tokens]
        assert len(sizes) >= 3 and all(update.is_estimated for update in sizes)
        tokens = [update.used_tokens for update in sizes]
        assert tokens == sorted(tokens) and tokens[0] < tokens[-1]
        assert sizes[-1].used_percentage > 0
        assert stage.events_of(TaskTokenUsageUpdated)[-1].token_usage.context_tokens == tokens[-1]

    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt"), DONE], story)


def test_a_count_of_the_provider_is_no_estimate(workspace: Path) -> None:
    write_files(workspace, "a.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        sizes = [(update.used_tokens, update.is_estimated) for update in stage.events_of(ContextUpdate)]
        assert (20_010, False) in sizes

    play_in_small_window(workspace, [reading("a.txt", COUNTED), {**DONE, "usage": COUNTED}], story)
