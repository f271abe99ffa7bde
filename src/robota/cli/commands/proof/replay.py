"""`robota replay`: run a recorded session again, and report the first difference."""

import argparse
import asyncio
import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.app.replaying import replay_session
from robota.cli.command_parser import CommandParser
from robota.cli.commands.sessions.selection import named_or_newest_session, tell
from robota.cli.output import print_json
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import verify
from robota.log.errors import LogError, SessionNotFound
from robota.log.record import RecordFlaw
from robota.proof.replay.comparison import Divergence
from robota.proof.replay.recording import NotReplayable
from robota.proof.replay.replaying import ReplayOptions, ReplayReport
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.private_git import CheckpointError

IDENTICAL: Final = 0
DIVERGED: Final = 1
NOT_RUN: Final = 2
NOT_FOUND: Final = 3


def main(argv: Sequence[str]) -> int:
    """Run `robota replay …`; the arguments begin after `replay`."""
    options = parser().parse_args(argv)
    options.all = False
    try:
        root = workspace_root(options.cwd)
        live = LaunchOptions(cwd=root, provider=options.provider, model=options.with_model)
        live_model = live if options.model == "live" else None
        with _meant(options.session, options) as (directory, is_own):
            changed = _change_of(directory) if is_own else None
            if options.tools == "live":
                _require_own_unchanged_log(changed, is_own)
            replay = ReplayOptions(
                directory=directory,
                root=root,
                is_own=is_own,
                live_tools=options.tools == "live",
                live_model=live_model,
            )
            report = _with_change(asyncio.run(replay_session(replay, os.environ)), changed)
    except SessionNotFound as error:
        tell(str(error))
        return NOT_FOUND
    except (ConfigError, LogError, CheckpointError, NotReplayable) as error:
        tell(f"{str(error).rstrip('.')}. Nothing was changed.")
        return NOT_RUN
    except OSError as error:
        tell(f"The directory to run it in could not be created or used: {error.strerror}. Nothing was changed.")
        return NOT_RUN
    except KeyboardInterrupt:
        tell("stopped. Nothing was changed.")
        return NOT_RUN
    _print(report, as_json=options.json)
    if report.not_compared is not None:
        return NOT_RUN
    return IDENTICAL if report.divergence is None else DIVERGED


def parser() -> CommandParser:
    """The argument parser of `robota replay`."""
    about = "Run a recorded session again in a separate directory, and report the first difference."
    parser = CommandParser(prog="robota replay", description=about)
    help_session = "session, or a file made by `robota report` (default: the newest session)"
    parser.add_argument("session", nargs="?", metavar="ID", help=help_session)
    help_tools = "recorded: take command results from the log; live: run them again, in the sandbox"
    parser.add_argument("--tools", choices=["recorded", "live"], default="recorded", help=help_tools)
    help_model = "recorded: take replies from the log; live: also ask a model and compare its decisions"
    parser.add_argument("--model", choices=["recorded", "live"], default="recorded", help=help_model)
    parser.add_argument("--provider", metavar="NAME", help="the provider profile for --model live")
    parser.add_argument("--with-model", metavar="NAME", help="the model for --model live")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    return parser


@contextmanager
def _meant(wanted: str | None, options: argparse.Namespace) -> Iterator[tuple[Path, bool]]:
    """The directory of the session, and whether it was written on this machine. A report is unpacked temporarily."""
    path = None if wanted is None else Path(wanted)
    if path is None or not path.is_file():
        session = named_or_newest_session(options)
        yield session.directory, session.is_own
        return
    if not zipfile.is_zipfile(path):
        raise NotReplayable(f"{single_line(str(path), 400)} is not a report")
    with tempfile.TemporaryDirectory(prefix="robota-report-") as place:
        yield _unpacked(path, Path(place)), False


def _unpacked(path: Path, place: Path) -> Path:
    from robota.log.transfer.draft import DraftSession
    from robota.log.transfer.unbundle import read_manifest, take_in
    from robota.secrets.redaction import Redactor

    manifest = read_manifest(path)
    with DraftSession(place, place / "home", "report", Redactor()) as draft:
        notice = take_in(draft, path, manifest, "report", place, 0)
        directory = draft.finish()
    if notice:
        tell(notice)
    return directory


def _change_of(directory: Path) -> str | None:
    """How the log differs from what was written on this machine; None if it does not."""
    from robota.config.paths import user_directory

    broken = verify(directory / LOG_NAME, noted_head(head_path(user_directory(os.environ), directory))).broken
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
    found = Divergence(kind="log", where=where, recorded=changed, replayed="(what it says now was run again)")
    return msgspec.structs.replace(report, divergence=found, not_compared=None)


def _print(report: ReplayReport, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "identical": report.divergence is None and report.not_compared is None,
                "requests": report.requests,
                "allRequests": report.all_requests,
                "comparedFiles": report.compared_files,
                "divergence": report.divergence,
                "notCompared": report.not_compared,
                "notes": report.notes,
            }
        )
        return
    for note in report.notes:
        tell(note)
    made = f"{report.requests} of {report.all_requests} requests were made again"
    if report.not_compared is not None:
        limit = report.not_compared
        after = f"after request {limit.request}" if limit.request else "from the beginning"
        print(f"not comparable {after}: {limit.why}, which cannot be repeated. Everything before it is identical.")
    elif report.divergence is None:
        compared = "prompts, arguments and file bytes" if report.compared_files else "prompts and arguments"
        print(f"identical: {made}; {compared} are the same.")
    else:
        print(f"different: {made}. The first difference:")
        print(visible(report.divergence.text))
