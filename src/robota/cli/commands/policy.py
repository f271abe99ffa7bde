"""`robota policy`: explain a verdict, test the rules, and try other rules on past sessions."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json, print_prose
from robota.config.errors import ConfigError
from robota.config.yaml_document import YamlProblem, read_yaml
from robota.contracts.verdict import Decision, Verdict
from robota.log.errors import LogError
from robota.policy.testing.cases import Case, CaseFile, CaseProblem, CaseResult, read_cases, run_cases
from robota.policy.testing.replay import Changed, RecordedCall, Replayed, recorded_calls, replay
from robota.protocol.permission_mode import PermissionMode
from robota.text.counted import counted
from robota.text.visible import single_line, visible_with_warnings

BELOW: Final = " " * 7
EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
TEST_FILES: Final = (".robota/policy-tests.yaml", ".robota/policy-tests.yml", ".robota/policy-tests.json")
MAX_LINE_LENGTH: Final = 100
MAX_FILE_BYTES: Final = 1024 * 1024


def main(argv: Sequence[str]) -> int:
    """Run `robota policy …`; the arguments begin after `policy`."""
    own, command = _split(argv)
    options = parser().read(own)
    options.words = [*getattr(options, "words", []), *command]
    try:
        return _action(options.action)(options)
    except (ConfigError, CaseProblem, LogError) as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_USAGE


def _action(name: str) -> Callable[[argparse.Namespace], int]:
    return {"explain": _explain, "test": _test, "simulate": _simulate}[name]


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Everything after the first `--` is the command, even if it looks like options."""
    words = list(argv)
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def parser() -> CommandParser:
    """The argument parser of `robota policy`."""
    shared = CommandParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON")
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    shared.add_argument(
        "--mode",
        choices=list(PermissionMode),
        metavar="MODE",
        help=f"{', '.join(PermissionMode)} (default: from the settings)",
    )
    rules_help = "use only the permissions of this settings file"
    parser = CommandParser(prog="robota policy", description="Explain, test and simulate permission rules.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    explain = actions.add_parser("explain", parents=[shared], help="show the decision for a call, and the reason")
    explain.add_argument("--rules", type=Path, metavar="FILE", help=rules_help)
    explain.add_argument("--tool", metavar="NAME", help="a tool instead of a command")
    explain.add_argument("--args", default="{}", metavar="JSON", help="the arguments of the tool")
    explain.add_argument("words", nargs="*", metavar="-- COMMAND", help="a shell command")
    test = actions.add_parser("test", parents=[shared], help="run policy tests; exit with 1 if one fails")
    test.add_argument("--rules", type=Path, metavar="FILE", help=rules_help)
    test.add_argument("file", nargs="?", type=Path, metavar="FILE", help=f"default: {TEST_FILES[0]}")
    simulate = actions.add_parser("simulate", parents=[shared], help="apply other rules to the calls of past sessions")
    simulate.add_argument("--rules", type=Path, metavar="FILE", help=f"{rules_help} (default: the current rules)")
    return parser


def _mode(options: argparse.Namespace) -> PermissionMode | None:
    return None if options.mode is None else PermissionMode(options.mode)


def _explain(options: argparse.Namespace) -> int:
    from robota.cli.commands.policy_bench import PolicyBench
    from robota.tools.registry import SHELL_TOOL

    if bool(options.tool) == bool(options.words):
        raise ConfigError("Give either a command after -- or --tool NAME with --args JSON. Nothing was evaluated.")
    bench = PolicyBench.open(options.cwd, os.environ, options.rules)
    command = options.words[0] if len(options.words) == 1 else shlex.join(options.words)
    tool = options.tool or SHELL_TOOL
    arguments = _arguments(options.args) if options.tool else {"command": command}
    verdict = bench.judge(tool, arguments, _mode(options))
    if options.json:
        print_json(_verdict_json(verdict))
    else:
        _print_verdict(verdict)
    return EXIT_OK


def _test(options: argparse.Namespace) -> int:
    from robota.cli.commands.policy_bench import PolicyBench
    from robota.tools.registry import SHELL_TOOL

    path = options.file or _default_test_file(options.cwd)
    cases = _read_case_file(path)
    beside = path.parent / cases.rules if cases.rules else path.with_name("settings.json")
    rules = options.rules or (beside if cases.rules or (cases.permissions is None and beside.exists()) else None)
    bench = PolicyBench.open(options.cwd, os.environ, rules, cases.permissions)

    def judge(case: Case) -> Verdict:
        try:
            return judged(case)
        except ConfigError as error:
            raise ConfigError(f"{path}, test {cases.tests.index(case) + 1} ({_line(case.title)}): {error}") from error

    def judged(case: Case) -> Verdict:
        arguments = {"command": case.command} if case.command is not None else case.args
        if case.cwd is not None:
            arguments["cwd"] = case.cwd
        verdict = bench.judge(case.tool or SHELL_TOOL, arguments, case.mode or _mode(options) or cases.mode)
        if case.intent is None:
            return verdict
        return bench.judge_for_intent(case.intent, case.tool or SHELL_TOOL, arguments, verdict)

    outcomes = run_cases(cases.tests, judge)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if options.json:
        print_json({"passed": len(outcomes) - len(failed), "failed": [_outcome_json(one) for one in failed]})
    else:
        for outcome in failed:
            print(f"FAILED  {_line(outcome.case.title)}\n        {_difference(outcome)}")
        print(f"{len(outcomes) - len(failed)} of {len(outcomes)} policy tests passed.")
    return EXIT_FAILED if failed else EXIT_OK


def _simulate(options: argparse.Namespace) -> int:
    from robota.cli.commands.policy_bench import PolicyBench, past_sessions

    bench = PolicyBench.open(options.cwd, os.environ, options.rules)
    names: list[str] = []

    def calls() -> Iterator[RecordedCall]:
        for session, records in past_sessions(options.cwd, os.environ):
            names.append(session)
            yield from recorded_calls(session, records)

    replayed = replay(calls(), lambda call, rules: bench.judge_again(call, _mode(options), rules))
    if options.json:
        print_json(_replayed_json(replayed, len(names)))
    else:
        _print_replayed(replayed, len(names))
    return EXIT_OK


def _replayed_json(replayed: Replayed, sessions: int) -> dict[str, Any]:
    return {
        "sessions": sessions,
        "calls": replayed.calls,
        "unknown": replayed.unknown,
        "before": replayed.before,
        "now": replayed.now,
        "changed": [_changed_json(changed) for changed in replayed.changed],
        "refusedAllowed": replayed.refused_allowed,
        "answeredYes": replayed.answered_yes,
        "sparing": {
            "rules": replayed.sparing.rules,
            "spared": replayed.sparing.spared,
            "isFewest": replayed.sparing.is_fewest,
        },
    }


def _print_verdict(verdict: Verdict) -> None:
    print_prose(f"{verdict.decision}: {verdict.reason}")
    if verdict.rule:
        print_prose(f"rule:  {verdict.rule}", BELOW)
    print_prose(f"path:  {' → '.join(verdict.steps)}", BELOW)
    for part in verdict.parts:
        print_prose(f"part:  {part.decision:5}  {_line(part.text)}  ({part.reason})", BELOW)
    for suggestion in verdict.suggestions:
        print_prose(f"to allow {suggestion.covers}:  {'  '.join(suggestion.rules)}", BELOW)


def _print_replayed(replayed: Replayed, sessions: int) -> None:
    for changed in replayed.changed:
        before, after = changed.call.decision, changed.verdict.decision
        print_prose(f"{before:5} → {after:5}  {_line(_call_text(changed.call))}  ({changed.verdict.reason})", BELOW)
    calls = f"{counted(replayed.calls, 'call')} of {counted(sessions, 'session')}"
    print(f"{calls}: {len(replayed.changed)} would be decided differently.")
    for name, words in ((Decision.ALLOW, "allowed"), (Decision.ASK, "asked about"), (Decision.DENY, "denied")):
        print(f"  {words:<12} {replayed.now.get(name, 0):>5}  (before {replayed.before.get(name, 0)})")
    if replayed.unknown:
        print(f"{replayed.unknown} could not be judged again: their tool or their arguments are not known here.")
    if replayed.refused_allowed:
        print(f"You rejected {counted(replayed.refused_allowed, 'call')} that would be allowed now.")
    _print_sparing(replayed)


def _print_sparing(replayed: Replayed) -> None:
    sparing = replayed.sparing
    if not replayed.answered_yes:
        return
    print(f"You approved {counted(replayed.answered_yes, 'call')} that would still need approval.")
    if sparing.rules:
        fewest = "The smallest set of rules" if sparing.is_fewest else "Rules"
        print(f"{fewest} that would have allowed {sparing.spared} of them, and nothing that you rejected:")
        for rule in sparing.rules:
            print(f"  {_line(rule)}")
    else:
        print("No rule would have allowed one of them without allowing something that you rejected.")


def _default_test_file(cwd: Path) -> Path:
    found = next((cwd / name for name in TEST_FILES if (cwd / name).is_file()), None)
    if found is None:
        raise ConfigError(f"There are no policy tests here. Create {TEST_FILES[0]}, or name a file.")
    return found


def _read_case_file(path: Path) -> CaseFile:
    try:
        with path.open(encoding="utf-8") as file:
            return read_cases(read_yaml(file.read(MAX_FILE_BYTES)))
    except (OSError, UnicodeDecodeError, YamlProblem) as error:
        raise ConfigError(f"The policy tests in {path} cannot be read: {error}") from error
    except CaseProblem as problem:
        raise CaseProblem(f"{path}: {problem}.") from problem


def _arguments(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text.encode(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ConfigError(f"--args must be a JSON object: {error}. Nothing was evaluated.") from error


def _difference(outcome: CaseResult) -> str:
    case, verdict = outcome.case, outcome.verdict
    rule = f" by {case.rule}" if case.rule else ""
    return f"expected {case.expect}{rule}, got {verdict.decision} by {verdict.rule or 'no rule'}: {verdict.reason}"


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "verdict": verdict.decision,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "parts": [_part_json(part.text, part.decision, part.reason, part.rule) for part in verdict.parts],
        "path": verdict.steps,
        "suggestions": verdict.suggestions,
    }


def _part_json(text: str, decision: Decision, reason: str, rule: str | None) -> dict[str, Any]:
    return {"command": text, "verdict": decision, "reason": reason, "rule": rule}


def _outcome_json(outcome: CaseResult) -> dict[str, Any]:
    return {"test": outcome.case.title, "expected": outcome.case.expect, **_verdict_json(outcome.verdict)}


def _changed_json(changed: Changed) -> dict[str, Any]:
    call = changed.call
    return {
        "session": call.session,
        "tool": call.tool,
        "input": call.input,
        "before": call.decision,
        **_verdict_json(changed.verdict),
    }


def _call_text(call: RecordedCall) -> str:
    first = next(iter((call.input or {}).values()), "")
    return f"{call.tool} {first}"


def _line(text: str) -> str:
    """A command on one line of the screen, with control characters made visible."""
    return single_line(" ".join(visible_with_warnings(text).text.split()), MAX_LINE_LENGTH)
