"""Builds the hooks of a session, and lifecycle hooks for events outside one."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.extensions import outside_code, session_plugins
from robota.app.sandbox import withheld_variables
from robota.config.settings.load import Settings, load_settings
from robota.contracts.hook import LifecycleHooks, SessionHooks
from robota.engine.runtime.options import Options
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import SessionLog
from robota.log.store import session_directory
from robota.policy.decide import SessionPolicy
from robota.workspace.files.files import LocalFiles

if TYPE_CHECKING:
    from robota.extensions.plugins.active import ActivePlugin
    from robota.hooks.definitions import CheckRule, HookSet
    from robota.protocol.port import EditorFiles
    from robota.workspace.outside_code.outside_code import OutsideCode


def session_hooks(
    settings: Settings,
    plugins: "Sequence[ActivePlugin]",
    code: "OutsideCode | None",
    options: Options,
    log: SessionLog,
    policy: SessionPolicy,
    env: Mapping[str, str],
) -> tuple[SessionHooks, tuple[str, ...]]:
    """The hooks of settings, plugins and the embedding program, and notices about invalid ones."""
    own_rules = options.launch.additions.hook_rules
    if not own_rules and (code is None or not has_hooks(settings, plugins)):
        return SessionHooks(), ()
    from robota.hooks.runner import Hooks, HookSessionInfo
    from robota.policy.rule_match import matches_call

    configured = _configured_hooks(settings, plugins, code, policy)
    with_own = msgspec.structs.replace(configured, rules=(*configured.rules, *own_rules))
    notices = tuple(problem.message for problem in with_own.problems)
    if not with_own.rules:
        return SessionHooks(), notices
    info = HookSessionInfo(session_id=options.session_id, transcript_path=str(log.path), cwd=options.cwd)
    variables, withheld = _hook_environment(settings, env), withheld_variables(settings)
    hooks = Hooks(with_own, info, code, variables, partial(matches_call, policy=policy), log.keep_for_model, withheld)
    return SessionHooks(before=(hooks,), after=(hooks,), lifecycle=hooks), notices


def with_editor(hooks: SessionHooks, editor: "EditorFiles | None", files: LocalFiles) -> SessionHooks:
    """The hooks with the steps that read and write unsaved changes in the user's editor, nearest to the call."""
    if editor is None:
        return hooks
    from robota.hooks.editor_buffers import EditorBuffers

    around = EditorBuffers(editor, files)
    return msgspec.structs.replace(
        hooks, before=(*hooks.before, around), guards=(*hooks.guards, around), after=(around, *hooks.after)
    )


def _configured_hooks(
    settings: Settings, plugins: "Sequence[ActivePlugin]", code: "OutsideCode | None", policy: SessionPolicy
) -> "HookSet":
    """The hooks of settings and plugins; none where no programs may run outside the sandbox."""
    from robota.hooks.definitions import HookSet
    from robota.policy.rule_match import problem_with_rule

    return HookSet() if code is None else all_hooks(settings, plugins, lambda rule: problem_with_rule(rule, policy))


def has_hooks(settings: Settings, plugins: "Sequence[ActivePlugin]") -> bool:
    """Whether there are any hooks; if not, their modules are not loaded."""
    return bool(settings.values.hooks) or any(plugin.contents.hooks for plugin in plugins)


def all_hooks(
    settings: Settings, plugins: "Sequence[ActivePlugin]", check_rule: "CheckRule" = lambda rule: None
) -> "HookSet":
    """The hooks of the plugins, then those of the settings."""
    from robota.hooks.definitions import HookSet, parse_hooks

    of_plugins = [(plugin.variables, parse_hooks(plugin.contents.hook_settings, check_rule)) for plugin in plugins]
    of_plugins.append(({}, parse_hooks(settings.values.hooks, check_rule)))
    return HookSet(
        rules=tuple(msgspec.structs.replace(rule, variables=own) for own, hooks in of_plugins for rule in hooks.rules),
        problems=tuple(problem for _, hooks in of_plugins for problem in hooks.problems),
    )


def add_hook_programs(settings: Settings, plugins: "Sequence[ActivePlugin]", code: "OutsideCode", root: Path) -> None:
    """Add the programs of all hooks, without a session that runs them."""
    from robota.hooks.runner import add_programs

    add_programs(all_hooks(settings, plugins), root, code)


def workspace_hooks(root: Path, env: Mapping[str, str]) -> LifecycleHooks | None:
    """The lifecycle hooks of a workspace, without a session; None if there are none."""
    return hooks_outside_session(load_settings(root, env), root, "", env)


def hooks_outside_session(
    settings: Settings, root: Path, session_id: str, env: Mapping[str, str]
) -> LifecycleHooks | None:
    """The lifecycle hooks for events before and after a session; None if there are none."""
    plugins, _ = session_plugins(settings, root, env)
    code = outside_code(settings, plugins, root, env, attended=False)
    if code is None or not has_hooks(settings, plugins):
        return None
    from robota.hooks.runner import Hooks, HookSessionInfo

    log = session_directory(root, session_id) / LOG_NAME if session_id else ""
    return Hooks(
        all_hooks(settings, plugins),
        HookSessionInfo(session_id=session_id, transcript_path=str(log), cwd=root),
        code,
        _hook_environment(settings, env),
        withheld=withheld_variables(settings),
    )


def _hook_environment(settings: Settings, env: Mapping[str, str]) -> dict[str, str]:
    from robota.workspace.process.environment import without_loader_settings

    return {**env, **without_loader_settings(settings.values.env)}
