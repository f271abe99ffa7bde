"""Plugins and marketplaces for tests: directories and real git repositories."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HOOK = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/scripts/check.sh"'}
HOOKS = {"hooks": {"PostToolUse": [{"matcher": "Write|Edit", "hooks": [HOOK]}]}}
CHECK = '#!/bin/sh\necho "$1 checked by $ROBOTA_PLUGIN_ROOT" >> "$CLAUDE_PROJECT_DIR/checked.txt"\n'
SKILL = (
    "---\ndescription: Mends what the linter finds.\n---\nRun ${CLAUDE_PLUGIN_ROOT}/scripts/check.sh on $ARGUMENTS.\n"
)
FILES: dict[str, Any] = {
    ".claude-plugin/plugin.json": {"name": "lint", "version": "1.0.0", "description": "Checks code."},
    "hooks/hooks.json": HOOKS,
    "scripts/check.sh": CHECK,
    "skills/mend/SKILL.md": SKILL,
    "commands/greet.md": "Say hello to $ARGUMENTS.\n",
}


def write_files(directory: Path, files: dict[str, Any]) -> Path:
    """Write files with their text or JSON; scripts are executable. None removes a file."""
    for path, content in files.items():
        target = directory / path
        if content is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if isinstance(content, str) else json.dumps(content))
        if path.endswith(".sh"):
            target.chmod(0o755)
    return directory


def plugin(directory: Path, **more: Any) -> Path:
    """The plugin `lint`, with additional or replaced files."""
    return write_files(directory, {**FILES, **more})


def marketplace(directory: Path, name: str = "team", **entry: Any) -> Path:
    """A marketplace in a git repository that contains and offers the plugin `lint`."""
    offered = {"name": "lint", "source": "./plugins/lint", "description": "Checks code.", **entry}
    plugin(directory / "plugins/lint")
    listing = {"name": name, "owner": {"name": "T"}, "plugins": [offered]}
    write_files(directory, {".claude-plugin/marketplace.json": listing})
    git(directory, "init", "--quiet", "--initial-branch=main")
    commit(directory)
    return directory


def commit(directory: Path) -> str:
    """Commit everything as it is; returns the commit."""
    git(directory, "add", "--all")
    git(directory, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "-m", "change")
    return git(directory, "rev-parse", "HEAD").strip()


def git(directory: Path, *arguments: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    return subprocess.run(
        ["git", *arguments], cwd=directory, env=env, check=True, capture_output=True, text=True
    ).stdout
