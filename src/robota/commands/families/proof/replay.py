"""The verb `replay`: run a recorded session again, and report the first difference."""

import asyncio
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from robota.app.replaying import replay_session
from robota.commands.sessions.selection import named_or_newest_session, noted_end
from robota.commands.verb import CONFIGURATION, DONE, Answer, Failure, Family, ShellVerb, VerbFailed, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.launch_options import LaunchOptions
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import verify
from robota.log.errors import SessionNotFound
from robota.log.record import RecordFlaw
from robota.proof.replay.comparison import Divergence
from robota.proof.replay.recording import NotReplayable
from robota.proof.replay.replaying import ReplayOptions, ReplayReport
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.private_git import CheckpointError

DIVERGED: Final = 1
NOT_RUN: Final = 2


class ReplaySession(msgspec.Struct, frozen=True, kw_only=True):
    """A session, and what of it happens again."""

    session: Annotated[
        str | None, Positional("ID", "session, or a file made by `robota report` (default: the newest session)")
    ] = None
    tools: Annotated[
        Literal["recorded", "live"],
        Option("recorded: take command results from the log; live: run them again, in the sandbox"),
    ] = "recorded"
    model: Annotated[
        Literal["recorded", "live"],
        Option("recorded: take replies from the log; live: also ask a model and compare its decisions"),
    ] = "recorded"
    provider: Annotated[str | None, Option("the provider profile for --model live", "NAME")] = None
    with_model: Annotated[str | None, Option("the model for --model live", "NAME")] = None


async def _replay(host: VerbHost, args: ReplaySession) -> Answer:
    live = LaunchOptions(cwd=host.root, provider=args.provider, model=args.with_model)
    with _recorded(host, args.session) as (directory, is_own):
        changed = _change_of(directory, host.env) if is_own else None
        if args.tools == "live":
            _require_own_unchanged_log(changed, is_own)
        replay = ReplayOptions(
            directory=directory,
            root=host.root,
            is_own=is_own,
            live_tools=args.tools == "live",
            live_model=live if args.model == "live" else None,
        )
        try:
            report = _redacted(_with_change(await replay_session(replay, host.env), changed), host.env)
        except asyncio.CancelledError as stopped:
            raise VerbFailed("stopped. Nothing was changed.", NOT_RUN) from stopped
    for note in report.notes if not host.wants_all else ():
        host.tell(note)
    is_identical = report.divergence is None and report.not_compared is None
    data = {
        "identical": is_identical,
        "requests": report.requests,
        "allRequests": report.all_requests,
        "comparedFiles": report.compared_files,
        "divergence": report.divergence,
        "notCompared": report.not_compared,
        "notes": report.notes,
    }
    exit_code = NOT_RUN if report.not_compared is not None else DONE if is_identical else DIVERGED
    return msgspec.structs.replace(told(_summary(report), data), exit_code=exit_code)


def _redacted(report: ReplayReport, env: Mapping[str, str]) -> ReplayReport:
    """The report without secrets, also those in names of files and in what was not recorded."""
    redactor = Redactor(secret_variables(env))

    def redacted(text: str) -> str:
        return redactor(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")

    divergence = report.divergence
    return msgspec.structs.replace(
        report,
        notes=tuple(map(redacted, report.notes)),
        divergence=divergence
        and msgspec.structs.replace(
            divergence,
            where=redacted(divergence.where),
            recorded=redacted(divergence.recorded),
            replayed=redacted(divergence.replayed),
        ),
    )


def _explain(error: Exception) -> Failure:
    if isinstance(error, SessionNotFound):
        return Failure(str(error), CONFIGURATION)
    if isinstance(error, OSError):
        problem = f"The directory to run it in could not be created or used: {error.strerror}"
    else:
        problem = str(error).rstrip(".")
    return Failure(f"{problem}. Nothing was changed.", NOT_RUN)


FAMILY: Final = Family(
    name="replay",
    about="Run a recorded session again in a separate directory, and report the first difference.",
    main=ShellVerb(
        "replay",
        "re-run a recorded session and report the first difference",
        ReplaySession,
        _replay,
        reason="it runs a whole session again",
    ),
    problems=(CheckpointError, NotReplayable, OSError),
    explain=_explain,
)


@contextmanager
def _recorded(host: VerbHost, named: str | None) -> Iterator[tuple[Path, bool]]:
    """The directory of the session, and whether it was written on this machine. A report is unpacked temporarily."""
    path = None if named is None else host.path(named)
    if path is None or not path.is_file():
        session = named_or_newest_session(host, named)
        yield session.directory, session.is_own
        return
    if not zipfile.is_zipfile(path):
        raise NotReplayable(f"{single_line(str(path), 400)} is not a report")
    with tempfile.TemporaryDirectory(prefix="robota-report-") as directory:
        yield _unpacked(host, path, Path(directory)), False


def _unpacked(host: VerbHost, path: Path, root: Path) -> Path:
    from robota.log.transfer.draft import DraftSession
    from robota.log.transfer.unbundle import read_manifest, take_in

    manifest = read_manifest(path)
    with DraftSession(root, root / "home", "report", Redactor()) as draft:
        notice = take_in(draft, path, manifest, "report", root, 0)
        directory = draft.finish()
    if notice:
        host.tell(notice)
    return directory


def _change_of(directory: Path, env: Mapping[str, str]) -> str | None:
    """How the log differs from what was written on this machine; None if it does not."""
    broken = verify(directory / LOG_NAME, noted_end(env, directory)).broken
    # A killed process leaves an incomplete record, which is ignored.
    is_sound = broken is None or broken.flaw is RecordFlaw.TORN_TAIL
    return None if broken is None or is_sound else f"record {broken.seq}: {broken.explanation}"


def _require_own_unchanged_log(changed: str | None, is_own: bool) -> None:
    """Raise unless the log was written on this machine and not changed: only its commands are run again."""
    if not is_own:
        raise NotReplayable("The session was not written on this machine, so none of its commands is run again")
    if changed is not None:
        raise NotReplayable(f"The log was changed ({changed}), so none of its commands is run again")


def _with_change(report: ReplayReport, changed: str | None) -> ReplayReport:
    """Add a modified log to the report as a divergence: it does not prove what happened, even if it can be replayed."""
    if changed is None or report.divergence is not None:
        return report
    where = "the log is not as it was written"
    divergence = Divergence(kind="log", where=where, recorded=changed, replayed="(what it says now was run again)")
    return msgspec.structs.replace(report, divergence=divergence, not_compared=None)


def _summary(report: ReplayReport) -> str:
    made = f"{report.requests} of {report.all_requests} requests were made again"
    if report.not_compared is not None:
        limit = report.not_compared
        after = f"after request {limit.request}" if limit.request else "from the beginning"
        return f"not comparable {after}: {limit.why}, which cannot be repeated. Everything before it is identical."
    if report.divergence is None:
        compared = "prompts, arguments and file bytes" if report.compared_files else "prompts and arguments"
        return f"identical: {made}; {compared} are the same."
    return f"different: {made}. The first difference:\n{visible(report.divergence.text)}"
