"""Gives a replay the sessions, files and models of this machine."""

from collections.abc import Mapping
from pathlib import Path

from robota.app.knowledge.instructions import project_instructions
from robota.app.proof import checkpoint_opener
from robota.app.provider import model_access, resolve_profile
from robota.app.rewinding.checkpoints import checkpoint_store
from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions, settings_for
from robota.config.settings.schema import CheckpointSettings
from robota.proof.replay.replaying import ReplayHost, ReplayOptions, ReplayReport, replay
from robota.providers.chunks import Provider
from robota.providers.registry import BUILT_IN
from robota.workspace.checkpoints.store import CheckpointStore


async def replay_session(options: ReplayOptions, env: Mapping[str, str]) -> ReplayReport:
    """Replay a session. Raises `NotReplayable`, `ConfigError`, `LogError` and `CheckpointError`."""

    def store_of(workspace: Path, env: Mapping[str, str]) -> CheckpointStore:
        return checkpoint_store(CheckpointSettings(), workspace, env)

    def live_model(launch: LaunchOptions) -> tuple[Provider, str]:
        profile = resolve_profile(launch, settings_for(launch, options.root, env), env)
        return model_access(profile, None, BUILT_IN).provider, profile.model or ""

    host = ReplayHost(
        open_session=open_session,
        instructions=project_instructions,
        recorded_files=checkpoint_opener(options.root, env),
        checkpoint_store=store_of,
        live_model=live_model,
    )
    return await replay(options, host, env)
