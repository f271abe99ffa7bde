"""Commands that try to leave the workspace or to change what is protected there, by chance."""

import random
import shlex
from typing import Any, Final

from tests.cli.scripts import call
from tests.hostile.attacks.ground import BEGAN, CREDENTIALS, PROTECTED, Ground

# {0} and {1} are targets. Nothing reads a pipe, which would wait for ever.
SHAPES: Final = (
    *("echo x > {0}", "echo x >> {0}", "rm -rf {0}", "mv {0} {1}", "mv -T {0} {1}", "ln -sfn {0} {1}", "ln {0} {1}"),
    *("cp -r {0} {1}", "cp -rL {0}/. {1}", "chmod -R 777 {0}", "touch {0}", "mkdir -p {0}", "truncate -s 0 {0}"),
    *("tar -cf - {0} | tar -C {1} -xf -", "echo x > /proc/self/root{0}", "(cd {0} && echo x > AGENTS.md)"),
    *("find {0} -type f -exec tee -a {{}} + < /dev/null", "find -L {0} -maxdepth 3 -type f -exec cat {{}} +"),
    *("grep -rs canary {0}", "git -C {0} config core.fsmonitor x", "git init -q {0}", "git -C {0} status", "rmdir {0}"),
    *("mv {0} aside && mkdir -p {0} && echo x > {0}/AGENTS.md", "mkfifo {0}/new-pipe", "ls -la {0}"),
    *("(setsid -f sh -c 'echo x > {0}' > /dev/null 2>&1 &)", "for i in 1 2 3 4 5; do mv {0} a; ln -s {1} {0}; done &"),
    "python3 -c 'import os, sys; os.rename(*sys.argv[1:])' {0} {1}",
)
GIT: Final = ("git add -A", "git commit -q --allow-empty -m x", "git stash", "git switch -c other", "git tag x")


def random_calls(ground: Ground, chance: random.Random, names: list[str]) -> list[dict[str, Any]]:
    """What the model does in one round: a script with many attempts, git commands, and file tools on the same names."""
    script = "\n".join(_attempt(ground, chance, names) for _ in range(chance.randint(15, 40)))
    ground.write("attack.sh", f"exec < /dev/null\necho '{BEGAN}'\n{script}\nwait\n")
    in_json = [name for name in names if name.isprintable()]
    writing = [call("write_to_file", path=_inside(chance, in_json), content="x\n") for _ in range(2)]
    reading = [call("read_file", path=_inside(chance, in_json)) for _ in range(2)]
    commands = [call("execute_command", command=command) for command in ("bash attack.sh", *chance.sample(GIT, 2))]
    calls = [*writing, *reading, *commands]
    chance.shuffle(calls)
    return calls


def _attempt(ground: Ground, chance: random.Random, names: list[str]) -> str:
    first, second = (shlex.quote(_target(ground, chance, names)) for _ in range(2))
    return chance.choice(SHAPES).format(first, second)


def _target(ground: Ground, chance: random.Random, names: list[str]) -> str:
    kind = chance.randrange(5)
    if kind == 0:
        return str(ground.outside / chance.choice((".", "precious.txt", "deep", "new", "deep/er/new")))
    if kind == 1:
        return str(ground.home / chance.choice((".", ".bashrc", ".ssh/authorized_keys", *CREDENTIALS)))
    if kind == 2:
        protected = chance.choice(PROTECTED)
        return str(ground.workspace / chance.choice((protected, protected.rpartition("/")[0] or protected)))
    return str(ground.workspace / _inside(chance, names))


def _inside(chance: random.Random, names: list[str]) -> str:
    name = chance.choice([*names, "src", "src/main.py", "docs", "vendor", "scripts", "."])
    return chance.choice((name, name, f"{name}/new", f"{name}/../{name}"))
