"""Break the program in small ways, one at a time, and list the changes that no matching test notices.

    python -m scripts.mutants [--count 200] [--seed 1] [--base REVISION | PATH ...]

Without paths it takes the modules that changed since REVISION (default: the commit of a week ago). A module is changed
in place and restored afterwards; if this program is killed, `git checkout` restores it. Survivors that change nothing a
user could notice are listed, with the reason, in scripts/mutants/equivalent.toml.
"""

import argparse
import os
import random
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from scripts.mutants.matching_tests import matching_tests
from scripts.mutants.mutation import Mutation, usable_mutations

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = ROOT / "src" / "robota"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")
# A mutant may loop for ever; no group of matching tests takes nearly as long.
MAX_TEST_S: Final = 600


class Mutant(msgspec.Struct, frozen=True):
    """A module with one mutation."""

    module: Path
    mutation: Mutation

    @property
    def title(self) -> str:
        """Where it is and what it changes."""
        return f"{self.module.relative_to(ROOT)}:{self.mutation.line}: {self.mutation.text}"


def main() -> int:
    """Try a random sample of mutants. Exits with 1 if one of them survives and is not explained."""
    options = _options()
    modules = _modules(options.paths, options.base)
    if unsaved := _changed(modules):
        sys.exit(f"Commit these first, because they are changed and restored: {', '.join(unsaved)}")
    explained = _explained()
    mutants = [
        mutant
        for module in modules
        for mutation in usable_mutations(module.read_bytes())
        if (str(module.relative_to(ROOT)), mutation.text) not in explained
        for mutant in [Mutant(module, mutation)]
    ]
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants)} mutants in {len(modules)} modules, seed {options.seed}")
    survivors = [mutant for number, mutant in enumerate(chosen, 1) if _survives(mutant, f"{number}/{len(chosen)}")]
    print(f"{len(chosen) - len(survivors)} noticed, {len(survivors)} not noticed by any matching test")
    for mutant in survivors:
        print(f"  {mutant.title}")
    return 1 if survivors else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--base", default="", help="the modules that changed since this revision")
    parser.add_argument("paths", nargs="*", type=Path, help="modules or directories below src/robota")
    return parser.parse_args()


def _modules(paths: list[Path], base: str) -> list[Path]:
    if paths:
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    else:
        base = base or _git("rev-list", "-1", "--before=1 week ago", "HEAD").strip()
        named = _git("diff", "--name-only", "--diff-filter=d", base or "HEAD~1", "--", "src/robota").split()
        files = [ROOT / name for name in named if name.endswith(".py")]
    return sorted({file.resolve() for file in files if file.name != "__init__.py"})


def _changed(modules: list[Path]) -> list[str]:
    names = [str(module.relative_to(ROOT)) for module in modules]
    return [line[3:] for line in _git("status", "--porcelain", "--", *names).splitlines()] if names else []


def _explained() -> set[tuple[str, str]]:
    found = tomllib.loads(EQUIVALENT.read_text()).get("equivalent", [])
    return {(entry["module"], entry["change"]) for entry in found}


def _survives(mutant: Mutant, position: str) -> bool:
    status = mutant.module.stat()
    source = mutant.module.read_bytes()
    mutant.module.write_bytes(mutant.mutation.applied_to(source))
    try:
        survives = all(_pass(group) for group in matching_tests(mutant.module, ROOT))
    finally:
        mutant.module.write_bytes(source)
        # The compiled module is valid again only with the old time.
        os.utime(mutant.module, ns=(status.st_atime_ns, status.st_mtime_ns))
    print(f"{position} {'NOT NOTICED' if survives else 'noticed'}: {mutant.title}", flush=True)
    return survives


def _pass(tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2", *tests]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=MAX_TEST_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
