"""Which environment variables commands, MCP servers and hooks get, and which they do not."""

import asyncio
import json
from pathlib import Path

import pytest

from robota.workspace.process.processes import LocalProcesses
from robota.workspace.process.withheld_variables import WithheldVariables
from robota.workspace.process.wrapped_command import WrappedCommand
from tests.cli.scripts import call, script
from tests.harness.cli import Robota

SECRETS = {
    "ACCESS_KEY": "x",
    "ENCRYPTION_KEY": "x",
    "OPENROUTER_KEY": "x",
    "MYSQL_PWD": "x",
    "NPM_CONFIG__AUTH": "x",
    "npm_config_//registry.example/:_authToken": "x",
    "SENTRY_DSN": "x",
    "GITHUB_TOKEN": "x",
    "GH_PAT": "x",
    "DB_PASS": "x",
    "PGPASSWORD": "x",
    "DJANGO_SECRET_KEY": "x",
    "AWS_SESSION_TOKEN": "x",
    "SSH_AUTH_SOCK": "/tmp/x",
    "DATABASE_URL": "postgres://me:hunter2@db/app",
    "PIP_INDEX_URL": "https://me:hunter2@pypi.example/simple",
    "AZ_CONN": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==;",
    "UNSUSPICIOUS": "ghp_" + "a1B2" * 9,
}
ORDINARY = {
    "PWD": "/x",
    "OLDPWD": "/x",
    "HOME": "/home/me",
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "GIT_AUTHOR_NAME": "me",
    "GIT_AUTHOR_EMAIL": "me@example.com",
    "TOKENIZERS_PARALLELISM": "false",
    "MAX_OUTPUT_TOKENS": "100",
    "SSH_ASKPASS_REQUIRE": "never",
    "KEYBOARD_LAYOUT": "de",
    "COMPASS_HOME": "/x",
    "DATABASE_URL": "sqlite:///app.db",
    "EDITOR_URL": "https://example.com:8443/path?at=a@b",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36",
    "JAVA_HOME": "/usr/lib/jvm",
    "XDG_SESSION_ID": "3",
    "GOPATH": "/go",
    "NODE_OPTIONS": "--max-old-space-size=4096",
}


def test_secrets_are_withheld() -> None:
    assert WithheldVariables().without_secrets(SECRETS) == {}


def test_ordinary_variables_are_passed() -> None:
    assert WithheldVariables().without_secrets(ORDINARY) == ORDINARY


def test_what_a_profile_names_is_withheld_and_what_a_user_lists_is_passed() -> None:
    withheld = WithheldVariables(named=frozenset({"MY_MODEL"}), passed=frozenset({"GITHUB_TOKEN"}))
    environment = {"MY_MODEL": "x", "GITHUB_TOKEN": "x", "OTHER_TOKEN": "x"}
    assert withheld.without_secrets(environment) == {"GITHUB_TOKEN": "x"}
    assert withheld.without_own_keys(environment) == {"GITHUB_TOKEN": "x", "OTHER_TOKEN": "x"}


@pytest.mark.parametrize(("sandboxed", "expected"), [(True, "---"), (False, "--x")])
def test_a_key_of_a_profile_reaches_no_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sandboxed: bool, expected: str
) -> None:
    monkeypatch.setenv("MY_MODEL", "x")
    monkeypatch.setenv("OTHER_TOKEN", "x")

    async def scenario() -> str:
        processes = LocalProcesses(
            wrap=lambda command, cwd, access: WrappedCommand(argv=tuple(command), is_sandboxed=sandboxed),
            withheld=WithheldVariables(named=frozenset({"MY_MODEL"})),
        )
        try:
            done = await processes.run('echo "-${MY_MODEL}-${OTHER_TOKEN:--}"', tmp_path, 60, lambda _: None)
        finally:
            processes.close()
        return done.output_head.strip()

    assert asyncio.run(scenario()) == expected


def test_no_key_reaches_a_command_or_a_hook_of_a_session(robota: Robota) -> None:
    show = 'echo "got:${MY_MODEL-}${ACCESS_KEY-}${LISTED_TOKEN-}"'
    script(robota, {"calls": [call("execute_command", command=show)]}, {"text": "ok"})
    settings = robota.home / ".robota/settings.json"
    values = json.loads(settings.read_text())
    values["providers"]["other"] = {"type": "openai", "apiKey": "$ENV:MY_MODEL", "model": "m"}
    values["sandbox"] = {"passEnv": ["LISTED_TOKEN"]}
    values["permissions"] = {"allow": ["Bash"]}
    hook = {"type": "command", "command": f"{show} > {robota.home}/hook"}
    values["hooks"] = {"PreToolUse": [{"hooks": [hook]}]}
    settings.write_text(json.dumps(values))
    env = {"MY_MODEL": "one", "ACCESS_KEY": "two", "LISTED_TOKEN": "three"}
    done = robota("-p", "go", "--output-format", "stream-json", "--verbose", env=env)
    assert (robota.home / "hook").read_text() == "got:three\n"
    assert "got:" in done.stdout and "one" not in done.stdout.partition("got:")[2][:20]
    assert "two" not in done.stdout
