"""Rounds of random attacks: `make fuzz FUZZ="--hostile --minutes 5"` plays as many as there is time for."""

import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hostile.attacks.environments import Environment, missing
from tests.hostile.attacks.ground import BEGAN, Ground
from tests.hostile.attacks.opened_files import strace_is_installed
from tests.hostile.attacks.random_commands import random_calls
from tests.hostile.attacks.random_workspaces import plant_at_random

VISIBLE = Path("/var/tmp")


@contextmanager
def new_ground(environment: Environment) -> Iterator[Ground]:
    """A fresh one, not in /tmp, where nothing outside would be visible in bubblewrap, and open to other users."""
    base = Path(tempfile.mkdtemp(prefix="robota-hostile-", dir=VISIBLE if VISIBLE.is_dir() else None))
    base.chmod(0o755)
    try:
        yield Ground(environment, base)
    finally:
        # An ordinary user cannot remove what is in a directory without permission to write.
        subprocess.run(["chmod", "-R", "u+rwx", str(base)], check=False, capture_output=True)
        shutil.rmtree(base)


def play(environment: Environment, seed: int) -> list[str]:
    """One round; returns the damage. The same seed gives the same workspace and the same calls.

    A round in which the script of the attack did not run proves nothing: that is an error.
    """
    chance = random.Random(seed)
    with new_ground(environment) as ground:
        ground.watches_files = strace_is_installed()
        names = plant_at_random(ground, chance)
        ground.run(*random_calls(ground, chance, names), mode="acceptEdits")
        assert BEGAN in ground.said, f"nothing was attacked: {ground.said}"
        script = str(ground.workspace / "attack.sh")
        assert not ground.watches_files or script in ground.opened, "strace did not see the script"
        return ground.damage()


def search(minutes: float, seed: int) -> int:
    """Play in every environment of this machine until the time is over or there was damage. The exit code."""
    end = time.monotonic() + minutes * 60
    environments = [each for each in Environment if each.is_confined and missing(each) is None]
    if not environments:
        print("No sandbox works here. Nothing was tried.")
        return 2
    while time.monotonic() < end:
        for environment in environments:
            damage = play(environment, seed)
            if damage:
                print("\n".join((f"seed {seed} {environment.value}:", *damage)))
                return 1
        print(f"seed {seed}: nothing outside changed, and nothing hidden was read", flush=True)
        seed += 1
    return 0
