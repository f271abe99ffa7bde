"""The hooks of the settings, for a session and for what happens outside one."""

import os
from collections.abc import Mapping
from pathlib import Path

from robota.app.sandbox import withheld_variables
from robota.config.settings.load import Settings, load_settings
from robota.contracts.hook import LifecycleHooks, SessionHooks
from robota.engine.runtime.options import Options
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.store import session_directory
from robota.policy.decide import SessionPolicy


def hooks_of_session(
    settings: Settings, options: Options, log: SessionLog, policy: SessionPolicy
) -> tuple[SessionHooks, tuple[str, ...]]:
    """The hooks of the settings, if there are any, and what of them cannot be used."""
    if not settings.values.hooks:
        return SessionHooks(), ()
    from robota.hooks.definitions import parse_hooks
    from robota.hooks.runner import Hooks, HookSessionInfo
    from robota.policy.rule_match import matches_call, problem_with_rule
    from robota.workspace.process.environment import without_loader_settings

    found = parse_hooks(settings.values.hooks, lambda rule: problem_with_rule(rule, policy))
    notices = tuple(problem.message for problem in found.problems)
    if not found.rules:
        return SessionHooks(), notices
    hooks = Hooks(
        found,
        HookSessionInfo(session_id=options.session_id, transcript_path=str(log.path), cwd=options.cwd),
        {**os.environ, **without_loader_settings(settings.values.env)},
        lambda rule, tool, call: matches_call(rule, tool, call, policy),
        log.keep,
        withheld_variables(settings),
    )
    return SessionHooks(before=(hooks,), after=(hooks,), lifecycle=hooks), notices


def hooks_of_workspace(root: Path, env: Mapping[str, str]) -> LifecycleHooks | None:
    """The hooks that hold in a workspace, where there is no session."""
    return hooks_outside_session(load_settings(root, env), root, "")


def hooks_outside_session(settings: Settings, root: Path, session_id: str) -> LifecycleHooks | None:
    """Hooks for what happens before and after a session; they have no rules about calls."""
    if not settings.values.hooks:
        return None
    from robota.hooks.definitions import parse_hooks
    from robota.hooks.runner import Hooks, HookSessionInfo
    from robota.workspace.process.environment import without_loader_settings

    log = session_directory(root, session_id) / LOG_NAME if session_id else ""
    return Hooks(
        parse_hooks(settings.values.hooks),
        HookSessionInfo(session_id=session_id, transcript_path=str(log), cwd=root),
        {**os.environ, **without_loader_settings(settings.values.env)},
        withheld=withheld_variables(settings),
    )
