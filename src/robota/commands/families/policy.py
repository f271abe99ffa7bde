"""The verbs of policy: explain a verdict, test the rules, and try other rules on past sessions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.commands.policy.bench import PolicyBench, past_sessions
from robota.commands.verb import USAGE, Answer, Family, ReadingVerb, always, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional, ShellCommand
from robota.config.errors import ConfigError
from robota.config.yaml_document import YamlProblem, read_yaml
from robota.contracts.verdict import Decision, Verdict
from robota.policy.testing.cases import Case, CaseFile, CaseProblem, CaseResult, read_cases, run_cases
from robota.policy.testing.replay import Changed, RecordedCall, Replayed, recorded_calls, replay
from robota.protocol.permission_mode import PermissionMode
from robota.text.counted import counted
from robota.text.visible import single_line, visible_with_warnings
from robota.tools.registry import SHELL_TOOL

TEST_FILES: Final = (".robota/policy-tests.yaml", ".robota/policy-tests.yml", ".robota/policy-tests.json")
MAX_LINE_LENGTH: Final = 100
MAX_FILE_BYTES: Final = 1024 * 1024
OUTCOMES: Final = {"approve": "approves", "decline": "declines", "failed": "no review", "not asked": "is not asked"}
RULES: Final = "use only the permissions of this settings file"


class InMode(msgspec.Struct, frozen=True, kw_only=True):
    """In which permission mode, and by which rules."""

    mode: Annotated[
        PermissionMode | None, Option(f"{', '.join(PermissionMode)} (default: from the settings)", "MODE")
    ] = None
    rules: Annotated[str | None, Option(f"{RULES} (default: the current rules)", "FILE")] = None


class ExplainCall(InMode, frozen=True, kw_only=True):
    """A call to explain."""

    tool: Annotated[str | None, Option("a tool instead of a command", "NAME")] = None
    args: Annotated[str, Option("the arguments of the tool", "JSON")] = "{}"
    command: Annotated[str, ShellCommand("-- COMMAND", "a shell command")] = ""


class CheckRules(InMode, frozen=True, kw_only=True):
    """The tests to run."""

    file: Annotated[str | None, Positional("FILE", f"default: {TEST_FILES[0]}")] = None


class Simulation(InMode, frozen=True, kw_only=True):
    """Under which rules past calls are judged again."""

    reviewer: Annotated[
        int | None,
        Option("ask the reviewer, a model, about at most N of the calls that the mode confined asks about", "N"),
    ] = None


def _explain_call(host: VerbHost, args: ExplainCall) -> Answer:
    if bool(args.tool) == bool(args.command):
        raise ConfigError("Give either a command after -- or --tool NAME with --args JSON. Nothing was evaluated.")
    arguments = _arguments(args.args) if args.tool else {"command": args.command}
    verdict = _bench(host, args).judge(args.tool or SHELL_TOOL, arguments, args.mode)
    return told("\n".join(_verdict_lines(verdict)), _verdict_json(verdict))


def _bench(host: VerbHost, args: InMode) -> PolicyBench:
    return PolicyBench.open(host.cwd, host.env, None if args.rules is None else host.path(args.rules))


def _test(host: VerbHost, args: CheckRules) -> Answer:
    path = host.path(args.file) if args.file else _default_test_file(host.cwd)
    cases = _read_case_file(path)
    beside = path.parent / cases.rules if cases.rules else path.with_name("settings.json")
    own = host.path(args.rules) if args.rules else None
    rules = own or (beside if cases.rules or (cases.permissions is None and beside.exists()) else None)
    bench = PolicyBench.open(host.cwd, host.env, rules, cases.permissions)

    def judge(case: Case) -> Verdict:
        try:
            return judged(case)
        except ConfigError as error:
            raise ConfigError(f"{path}, test {cases.tests.index(case) + 1} ({_line(case.title)}): {error}") from error

    def judged(case: Case) -> Verdict:
        arguments = {"command": case.command} if case.command is not None else case.args
        if case.cwd is not None:
            arguments["cwd"] = case.cwd
        verdict = bench.judge(case.tool or SHELL_TOOL, arguments, case.mode or args.mode or cases.mode)
        if case.intent is None:
            return verdict
        return bench.judge_for_intent(case.intent, case.tool or SHELL_TOOL, arguments, verdict)

    results = run_cases(cases.tests, judge)
    failed = [result for result in results if not result.passed]
    passed = len(results) - len(failed)
    lines = [f"FAILED  {_line(result.case.title)}\n        {_difference(result)}" for result in failed]
    lines.append(f"{passed} of {len(results)} policy tests passed.")
    data = {"passed": passed, "failed": [_result_json(result) for result in failed]}
    return told("\n".join(lines), data, ok=not failed)


def _simulate(host: VerbHost, args: Simulation) -> Answer:
    bench = _bench(host, args)
    names: list[str] = []

    def calls() -> Iterator[RecordedCall]:
        for session, records in past_sessions(host.cwd, host.env):
            names.append(session)
            yield from recorded_calls(session, records)

    if args.reviewer is not None:
        return _reviewed(host, bench, list(calls()), args.reviewer)
    replayed = replay(calls(), lambda call, rules: bench.judge_again(call, args.mode, rules))
    return told("\n".join(_replayed_lines(replayed, len(names))), _replayed_json(replayed, len(names)))


def _reviewed(host: VerbHost, bench: PolicyBench, calls: list[RecordedCall], most: int) -> Answer:
    """What the reviewer would have said about the calls of past sessions."""
    from robota.commands.policy.past_review import opinions

    found = opinions(host, bench, calls, most)
    counts = {outcome: sum(each.outcome == outcome for each in found) for outcome in OUTCOMES}
    against = sum(each.outcome == "approve" and each.call.said_yes is False for each in found)
    lines = [f"{each.outcome:<9}  {_line(_call_text(each.call))}  ({_line(each.reason)})" for each in found]
    asked = counted(len(found), "call")
    lines.append(f"Of {counted(len(calls), 'call')}, the mode confined would ask about {asked}. The reviewer:")
    lines += [f"  {name:<12} {counts[outcome]:>5}" for outcome, name in OUTCOMES.items()]
    if against:
        lines.append(f"It would have approved {counted(against, 'call')} that you rejected.")
    data = {"calls": len(calls), "reviews": [each.data for each in found], "approvedRejected": against}
    return told("\n".join(lines), data)


FAMILY: Final = Family(
    name="policy",
    about="Explain, test and simulate permission rules.",
    description="explain, test and simulate permission rules",
    problems=(CaseProblem,),
    explain=always(USAGE),
    verbs=(
        ReadingVerb("explain", "show the decision for a call, and the reason", ExplainCall, _explain_call),
        ReadingVerb("test", "run policy tests; exit with 1 if one fails", CheckRules, _test),
        ReadingVerb("simulate", "apply other rules, or the reviewer, to past calls", Simulation, _simulate),
    ),
)


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


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.decision}: {verdict.reason}"
    if verdict.rule:
        yield f"rule:  {verdict.rule}"
    yield f"path:  {' → '.join(verdict.steps)}"
    for part in verdict.parts:
        yield f"part:  {part.decision:5}  {_line(part.text)}  ({part.reason})"
    for suggestion in verdict.suggestions:
        yield f"to allow {suggestion.covers}:  {'  '.join(suggestion.rules)}"


def _replayed_lines(replayed: Replayed, sessions: int) -> Iterator[str]:
    for changed in replayed.changed:
        before, after = changed.call.decision, changed.verdict.decision
        yield f"{before:5} → {after:5}  {_line(_call_text(changed.call))}  ({changed.verdict.reason})"
    calls = f"{counted(replayed.calls, 'call')} of {counted(sessions, 'session')}"
    yield f"{calls}: {len(replayed.changed)} would be decided differently."
    for decision, name in ((Decision.ALLOW, "allowed"), (Decision.ASK, "asked about"), (Decision.DENY, "denied")):
        yield f"  {name:<12} {replayed.now.get(decision, 0):>5}  (before {replayed.before.get(decision, 0)})"
    if replayed.unknown:
        yield f"{replayed.unknown} could not be judged again: their tool or their arguments are not known here."
    if replayed.refused_allowed:
        yield f"You rejected {counted(replayed.refused_allowed, 'call')} that would be allowed now."
    if replayed.answered_yes:
        yield f"You approved {counted(replayed.answered_yes, 'call')} that would still need approval."
        yield from _sparing_lines(replayed)


def _sparing_lines(replayed: Replayed) -> Iterator[str]:
    sparing = replayed.sparing
    if not sparing.rules:
        yield "No rule would have allowed one of them without allowing something that you rejected."
        return
    fewest = "The smallest set of rules" if sparing.is_fewest else "Rules"
    yield f"{fewest} that would have allowed {sparing.spared} of them, and nothing that you rejected:"
    yield from (f"  {_line(rule)}" for rule in sparing.rules)


def _default_test_file(cwd: Path) -> Path:
    test_file = next((cwd / name for name in TEST_FILES if (cwd / name).is_file()), None)
    if test_file is None:
        raise ConfigError(f"There are no policy tests here. Create {TEST_FILES[0]}, or name a file.")
    return test_file


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


def _difference(result: CaseResult) -> str:
    case, verdict = result.case, result.verdict
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


def _result_json(result: CaseResult) -> dict[str, Any]:
    return {"test": result.case.title, "expected": result.case.expect, **_verdict_json(result.verdict)}


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
