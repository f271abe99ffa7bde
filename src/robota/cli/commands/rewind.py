"""`robota rewind`: what the requests of a session changed, and taking it back."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.app.checkpoints import checkpoint_store
from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.cli.questions import Cancelled, at_terminal, confirm
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.paths import user_directory
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME, load
from robota.log.errors import LogError, SessionNotFound
from robota.log.replay.rewind_points import RewindPoint, rewind_history
from robota.log.store import fallback_directory, find_session, list_sessions
from robota.text.visible import single_line, visible
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.rewind import RestorePlan, plan_redo, plan_restore, plan_undo, redo, restore, undo
from robota.workspace.checkpoints.store import CheckpointStore

DONE: Final = 0
REFUSED: Final = 1
PROMPT_SHOWN: Final = 60
FILES_SHOWN: Final = 3
HEADINGS: Final = ("N", "CALLS", "REQUEST", "FILES CHANGED")


def main(argv: Sequence[str]) -> int:
    """Run `robota rewind …`; the arguments begin after `rewind`."""
    options = _parser().read(argv)
    try:
        root = workspace_root(options.cwd)
        settings = settings_for(LaunchOptions(cwd=root), root, os.environ).values.checkpoints
        store = checkpoint_store(settings, root, os.environ)
        return ACTIONS[options.action](root, store, options)
    except (ConfigError, LogError, CheckpointError) as error:
        print(f"robota: {str(error).rstrip('.')}.", file=sys.stderr)
    except Cancelled:
        print("Nothing was changed.", file=sys.stderr)
    return REFUSED


def _parser() -> CommandParser:
    shared = CommandParser(add_help=False)
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument("--session", metavar="ID", help="the session (default: the newest of this workspace)")
    shared.add_argument("--json", action="store_true", help="print JSON instead of text")
    changing = CommandParser(add_help=False)
    changing.add_argument("--dry-run", action="store_true", help="show the exact diff and change nothing")
    changing.add_argument("--yes", action="store_true", help="do not ask before files change")
    parser = CommandParser(prog="robota rewind", description="Take back what a session changed in the workspace.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="show the requests of a session and what each changed")
    differ = actions.add_parser("diff", parents=[shared], help="show what a request changed (default: all)")
    differ.add_argument("number", nargs="?", type=int, metavar="N", help="its number in the list")
    back = actions.add_parser("restore", parents=[shared, changing], help="go back to before a request or a call")
    back.add_argument("number", nargs="?", type=int, metavar="N", help="the request's number in the list")
    back.add_argument("--call", metavar="CALL", help="go back to before this call instead")
    back.add_argument("--only", action="append", default=[], metavar="PATH", help="only this file or directory")
    back.add_argument("--files", action="store_true", help="files only, which is all there is so far")
    actions.add_parser("undo", parents=[shared, changing], help="take the newest restore back")
    actions.add_parser("redo", parents=[shared, changing], help="do again what was undone")
    return parser


def _list(root: Path, store: CheckpointStore, options: argparse.Namespace) -> int:
    requests = _requests(root, options.session)
    changed = {request.number: _changed(store, request) for request in requests if request.calls}
    if options.json:
        print_json([_request_json(request, changed.get(request.number, ())) for request in requests])
    elif not requests:
        print("Nothing was asked in this session.")
    else:
        rows = [_row(request, changed.get(request.number, ())) for request in requests]
        print_columns([HEADINGS, *rows])
    return DONE


def _diff(root: Path, store: CheckpointStore, options: argparse.Namespace) -> int:
    requests = _requests(root, options.session)
    if options.number is None:
        first = next((request.before for request in requests if request.before is not None), None)
        diff = b"" if first is None else store.diff(first, store.capture().id)
    else:
        request = _numbered(requests, options.number)
        before = request.before if request.calls else None
        diff = b"" if before is None else store.diff(before, request.after or store.capture().id)
    _print_diff(diff, as_json=options.json)
    return DONE


def _restore(root: Path, store: CheckpointStore, options: argparse.Namespace) -> int:
    target = _target(_requests(root, options.session), options)
    only = [os.path.relpath(options.cwd / path, root) for path in options.only]
    plan = plan_restore(store, target, only)
    if not _may_go_on(plan, options):
        return DONE if options.dry_run or not plan.changes else REFUSED
    return _tell(plan, restore(store, target, only), options)


def _undo(root: Path, store: CheckpointStore, options: argparse.Namespace) -> int:
    plan = plan_undo(store)
    if not _may_go_on(plan, options):
        return DONE if options.dry_run else REFUSED
    return _tell(plan, undo(store), options)


def _redo(root: Path, store: CheckpointStore, options: argparse.Namespace) -> int:
    plan = plan_redo(store)
    if not _may_go_on(plan, options):
        return DONE if options.dry_run else REFUSED
    return _tell(plan, redo(store), options)


ACTIONS: Final = {"list": _list, "diff": _diff, "restore": _restore, "undo": _undo, "redo": _redo}


def _may_go_on(plan: RestorePlan, options: argparse.Namespace) -> bool:
    """Show what would happen, and whether it shall."""
    if options.dry_run:
        _print_diff(plan.diff, as_json=options.json)
        return False
    if options.yes:
        return True
    if not plan.changes:
        print("Nothing differs from that state.")
        return False
    if not at_terminal():
        raise CheckpointError("Nobody is there to be asked. Nothing was changed. Use --yes, or --dry-run to look")
    _print_diff(plan.diff, as_json=False)
    return confirm(f"Change {len(plan.changes)} files like this?", default=False)


def _tell(shown: RestorePlan, done: RestorePlan, options: argparse.Namespace) -> int:
    """Say what was done. Work that was in no checkpoint may have been saved when the plan was made."""
    plan = msgspec.structs.replace(done, saved_new_work=shown.saved_new_work or done.saved_new_work)
    if options.json:
        print_json(_plan_json(plan))
        return DONE
    for change in plan.changes:
        # Seen from the state before: what the target does not have is removed.
        word = {"added": "restored", "deleted": "removed", "modified": "restored"}[change.kind]
        print(f"{word}  {single_line(change.path, 4096)}")
    if not plan.changes:
        print("Nothing differs from that state.")
    for left in plan.left:
        print(f"left as it is  {single_line(left.path, 4096)}: {left.reason}")
    if plan.saved_new_work and plan.changes:
        print("What was in no checkpoint was saved first; `robota rewind undo` brings it back.")
    return DONE


def _target(requests: Sequence[RewindPoint], options: argparse.Namespace) -> str:
    if (options.number is None) == (options.call is None):
        raise CheckpointError("Say which state is meant: the number of a request, or --call with the id of a call")
    if options.call is not None:
        calls = [call for request in requests for call in request.calls if call.id == options.call]
        if not calls:
            raise CheckpointError(f"There is no checkpoint before a call {options.call!r} in this session")
        return calls[-1].checkpoint
    request = _numbered(requests, options.number)
    later = (each.before for each in requests[request.number - 1 :] if each.before is not None)
    target = next(later, None)
    if target is None:
        raise CheckpointError(f"Nothing was changed in request {request.number} or after it")
    return target


def _numbered(requests: Sequence[RewindPoint], number: int) -> RewindPoint:
    if not 1 <= number <= len(requests):
        raise CheckpointError(f"There is no request {number} in this session; it has {len(requests)}")
    return requests[number - 1]


def _requests(root: Path, session: str | None) -> tuple[RewindPoint, ...]:
    user = user_directory(os.environ)
    fallback = fallback_directory(user, root)
    if session is not None:
        directory = find_session(root, session, fallback)
        if noted_head(head_path(user, directory)) is None:
            print("robota: this session was not written on this machine", file=sys.stderr)
    else:
        # A repository can bring logs along; those of this machine are known outside it.
        own = (each.directory for each in list_sessions(root, fallback) if noted_head(head_path(user, each.directory)))
        directory = next(own, root)
        if directory == root:
            raise SessionNotFound(f"There is no session of this machine in {root}. Nothing was changed.")
    return rewind_history(load(directory / LOG_NAME).records).points


def _changed(store: CheckpointStore, request: RewindPoint) -> tuple[str, ...] | None:
    """The files that a request changed; None if its checkpoints are gone."""
    assert request.before is not None
    try:
        changes = store.changes(request.before, request.after or store.capture().id)
    except CheckpointError:
        return None
    return tuple(change.path for change in changes)


def _row(request: RewindPoint, files: tuple[str, ...] | None) -> tuple[str, ...]:
    prompt = single_line(request.prompt, PROMPT_SHOWN)
    return (str(request.number), str(len(request.calls)), prompt, _files_told(files))


def _files_told(files: tuple[str, ...] | None) -> str:
    if files is None:
        return "(its checkpoints are gone)"
    shown = ", ".join(single_line(path, PROMPT_SHOWN) for path in files[:FILES_SHOWN])
    return f"{shown} and {len(files) - FILES_SHOWN} more" if len(files) > FILES_SHOWN else shown


def _print_diff(diff: bytes, *, as_json: bool) -> None:
    text = diff.decode("utf-8", "replace")
    if as_json:
        print_json({"diff": text})
    elif text:
        print(visible(text), end="")
    else:
        print("Nothing differs.")


def _request_json(request: RewindPoint, files: tuple[str, ...] | None) -> dict[str, Any]:
    return {
        "number": request.number,
        "prompt": request.prompt,
        "calls": request.calls,
        "before": request.before,
        "after": request.after,
        "files": None if files is None else [_text(path) for path in files],
    }


def _plan_json(plan: RestorePlan) -> dict[str, Any]:
    return {
        "target": plan.target,
        "saved": plan.saved,
        "savedNewWork": plan.saved_new_work,
        "files": [{"path": _text(change.path), "kind": change.kind} for change in plan.changes],
        "left": [{"path": _text(each.path), "reason": each.reason} for each in plan.left],
    }


def _text(path: str) -> str:
    """A path that JSON can hold: bytes that are no text are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
