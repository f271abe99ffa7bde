"""Nothing in a home that programs keep credentials in can be read in the sandbox, wherever it lies."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.workspace.sandbox.home.access import find_home_access
from tests.workspace.sandbox.cells import KINDS, Cell
from tests.workspace.sandbox.home.planted import live_in, outside_of_tmp, write

# Well-known files with keys, tokens and passwords, of which a list would always lack some.
WELL_KNOWN = """
.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a.key .aws/credentials .aws/sso/cache/a.json .azure/msal.json
.kube/config .docker/config.json .config/gh/hosts.yml .config/gcloud/credentials.db .password-store/a.gpg
.local/share/keyrings/login.keyring .netrc .npmrc .pypirc .git-credentials .config/git/credentials .pgpass .my.cnf
.vault-token .cargo/credentials.toml .cargo/credentials .claude/.credentials.json .claude.json .codex/auth.json
.gemini/oauth_creds.json .local/share/opencode/auth.json .config/github-copilot/apps.json .m2/settings.xml
.m2/settings-security.xml .gradle/gradle.properties .config/rclone/rclone.conf .mozilla/firefox/a/logins.json
.config/google-chrome/Default/Cookies .cache/huggingface/token .config/hub .config/pypoetry/auth.toml
.local/share/uv/credentials/credentials.toml .gem/credentials .bundle/config .composer/auth.json
.config/composer/auth.json .nuget/NuGet/NuGet.Config .terraform.d/credentials.tfrc.json .pulumi/credentials.json
.config/doctl/config.yaml .fly/config.yml .netlify/config.json .config/op/config .kaggle/kaggle.json .bash_history
.thunderbird/a/logins.json .config/Slack/Cookies .dbt/profiles.yml .databrickscfg .snowflake/config.toml
.rye/credentials .julia/servers/pkg/auth.toml
.dotnet/corefx/cryptography/x509stores/my/a.pfx .pub-cache/credentials.json
.hex/hex.config .foundry/keystores/a .config/some-new-agent/token.json Documents/passwords.txt .env project/.env
""".split()


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with outside_of_tmp() as place:
        yield place


def test_no_credential_of_a_home_can_be_read(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cell.home, dict.fromkeys(WELL_KNOWN, "secret\n"))
    tools = (".cargo/bin/a", ".m2/repository/a", ".gradle/caches/a", ".cache/huggingface/hub/a", ".dotnet/sdk/a")
    write(cell.home, dict.fromkeys(tools, "needed\n"))
    live_in(cell, monkeypatch, ".cargo/bin", ".local/bin")
    assert cell.run("grep -rhs . ~").stdout.split() == ["needed"] * len(tools)
    done = cell.run("; ".join(f"cat ~/{name}" for name in WELL_KNOWN))
    assert done.stdout == ""


def test_credentials_that_variables_name_outside_the_home_are_hidden(
    cell: Cell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {
        "GNUPGHOME": "gnupg/a.key",
        "AWS_SHARED_CREDENTIALS_FILE": "aws",
        "KUBECONFIG": "kube",
        "DOCKER_CONFIG": "docker/config.json",
        "XDG_CONFIG_HOME": "config/gh/hosts.yml",
        "CARGO_HOME": "cargo/credentials.toml",
        "GRADLE_USER_HOME": "gradle/gradle.properties",
        "NPM_CONFIG_USERCONFIG": "npmrc",
        "HF_HOME": "hf/token",
        "GOOGLE_APPLICATION_CREDENTIALS": "google.json",
    }
    write(elsewhere, dict.fromkeys(variables.values(), "secret\n"))
    write(elsewhere, {"cargo/registry/a": "needed\n", "free": "free\n"})
    first = {name: str(elsewhere / place.split("/")[0]) for name, place in variables.items()}
    live_in(cell, monkeypatch, **{**first, "KUBECONFIG": f"{elsewhere}/none:{elsewhere}/kube"})
    assert sorted(cell.run(f"grep -rhs . {elsewhere}").stdout.split()) == ["free", "needed"]


def test_a_credential_store_behind_a_link_is_hidden_where_it_lies(
    cell: Cell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(elsewhere, {"keys/id": "secret", "aws": "secret"})
    (cell.home / ".aws").symlink_to(elsewhere / "keys")
    (cell.home / ".pgpass").symlink_to(elsewhere / "aws")
    live_in(cell, monkeypatch)
    assert "secret" not in cell.run(f"cat {elsewhere}/keys/id {elsewhere}/aws ~/.aws/id").stdout


def test_a_credential_that_appears_beside_something_visible_is_hidden(
    cell: Cell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(elsewhere, {"cargo/registry/a": "needed\n"})
    live_in(cell, monkeypatch, CARGO_HOME=str(elsewhere / "cargo"))
    write(elsewhere, {"cargo/credentials.toml": "secret\n"})
    assert cell.run(f"grep -rhs . {elsewhere}/cargo").stdout == "needed\n"


def test_the_home_of_the_account_counts_besides_the_variable(tmp_path: Path) -> None:
    """A program may look up either; as root, it could also read the homes of others."""
    home, root = tmp_path / "home", tmp_path / "ws"
    home.mkdir()
    root.mkdir()
    account = Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    if not account.is_dir() or len(account.parts) < 2:
        pytest.skip("this account has no home")
    access = find_home_access(root, {}, home=home)
    assert access.covers(home / ".ssh/id")
    assert access.covers(account / ".ssh/id")
