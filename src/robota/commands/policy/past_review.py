"""Asks the reviewer about calls of past sessions, which are not run again."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from robota.app.provider import model_access, resolve_profile
from robota.commands.policy.bench import PolicyBench
from robota.commands.verb_host import VerbHost
from robota.config.launch_options import LaunchOptions
from robota.config.settings.load import load_settings, refuse_errors
from robota.contracts.verdict import Verdict
from robota.engine.runtime.services import ModelAccess
from robota.policy.review import (
    ReviewedCall,
    fits_review,
    obstacle_to_review,
    read_review,
    review_instructions,
    review_text,
)
from robota.policy.testing.replay import RecordedCall
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ModelRequest, TextChunk
from robota.providers.fault import ProviderFault
from robota.providers.registry import KnownProviders

REVIEW_SECONDS: Final = 20.0
MAX_TOKENS: Final = 2_000


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What the reviewer would have said about a call: approve, decline, failed, or not asked, and why."""

    call: RecordedCall
    outcome: str
    reason: str

    @property
    def data(self) -> dict[str, Any]:
        return {
            "session": self.call.session,
            "tool": self.call.tool,
            "input": self.call.input,
            "outcome": self.outcome,
            "reason": self.reason,
            "saidYes": self.call.said_yes,
        }


def opinions(host: VerbHost, bench: PolicyBench, calls: Sequence[RecordedCall], most: int) -> tuple[Opinion, ...]:
    """Judge the calls as in the mode confined, and ask the reviewer about at most `most` of those that would ask."""
    asked: list[tuple[RecordedCall, Verdict]] = []
    for call in calls:
        verdict = bench.judge_again(call, PermissionMode.CONFINED) if call.input is not None else None
        if verdict is not None and not call.is_asked_by_hook:
            asked.append((call, verdict))
    return asyncio.run(_ask_about(host, bench, asked, most))


async def _ask_about(
    host: VerbHost, bench: PolicyBench, asked: Sequence[tuple[RecordedCall, Verdict]], most: int
) -> tuple[Opinion, ...]:
    settings = load_settings(host.cwd, host.env)
    refuse_errors(settings)
    profile = resolve_profile(LaunchOptions(cwd=host.cwd), settings, host.env)
    access = model_access(profile, None, KnownProviders(()))
    model = settings.values.reviewer.model or profile.model or ""
    found, used = list[Opinion](), 0
    try:
        for call, verdict in asked:
            subject = bench.subject_of(call)
            obstacle = obstacle_to_review(subject, verdict, call.user_words)
            if verdict.decision != "ask":
                continue
            shown = ReviewedCall(
                user_words=call.user_words, tool=call.tool, input=call.input or {}, reason=verdict.reason
            )
            if obstacle is None and not fits_review(shown):
                obstacle = "it is too long to be shown as a whole"
            if obstacle is not None or used >= most:
                found.append(Opinion(call=call, outcome="not asked", reason=obstacle or f"the limit of {most} reviews"))
                continue
            used += 1
            outcome, reason = await _opinion(access, model, shown)
            found.append(Opinion(call=call, outcome=outcome, reason=reason))
    finally:
        await access.provider.close()
    return tuple(found)


async def _opinion(access: ModelAccess, model: str, shown: ReviewedCall) -> tuple[str, str]:
    request = ModelRequest(
        model=model,
        system=review_instructions(),
        turns=(UserTurn(content=(TextBlock(text=review_text(shown)),)),),
        max_output_tokens=min(MAX_TOKENS, access.info.max_output_tokens or MAX_TOKENS),
    )
    texts: list[str] = []
    try:
        async with asyncio.timeout(REVIEW_SECONDS):
            async for batch in access.provider.stream(request):
                texts += [chunk.text for chunk in batch if isinstance(chunk, TextChunk)]
    except (TimeoutError, ProviderFault) as error:
        return "failed", str(error) or f"it took more than {REVIEW_SECONDS:g} seconds"
    answer = read_review("".join(texts))
    if answer is None:
        return "failed", "its answer cannot be read"
    return "approve" if answer.approve else "decline", answer.reason
