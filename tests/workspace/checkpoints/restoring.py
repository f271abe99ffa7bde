"""Restores in one step, and their reversal."""

from collections.abc import Sequence

from robota.workspace.checkpoints.rewind import RestorePlan, carry_out, plan_restore, plan_reversal
from robota.workspace.checkpoints.store import CheckpointStore


def restore(store: CheckpointStore, target: str, only: Sequence[str] = ()) -> RestorePlan:
    """Make the workspace, or only these paths, as they were."""
    plan = plan_restore(store, target, only)
    carry_out(store, plan)
    return plan


def take_back(store: CheckpointStore, done: RestorePlan) -> RestorePlan:
    """Reverse a restore. Reversing the result does it again."""
    plan = plan_reversal(store, done.saved, done.after)
    carry_out(store, plan)
    return plan
