"""Names that say that a value is secret, in settings and environments."""

import pytest

from robota.secrets.named_values import mask_settings, names_secret, referenced_variables


@pytest.mark.parametrize(
    "name",
    [
        *("DB_PASSWORD", "MYSQL_PWD", "GITHUB_TOKEN", "npm_config_//host/:_authToken", "SENTRY_DSN", "GH_PAT"),
        *("AWS_SECRET_ACCESS_KEY", "STRIPE_APIKEY", "SESSION_COOKIE", "PGPASSWORD", "MY_CREDENTIALS_JSON", "JWT"),
    ],
)
def test_names_of_credentials(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PWD", "OLDPWD", "PATH", "GIT_AUTHOR_NAME", "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY", "AUTHOR"),
        *("COMPASS", "MAX_TOKENS", "PATTERN"),
    ],
)
def test_ordinary_names(name: str) -> None:
    assert not names_secret(name)


def test_secrets_in_lists_are_masked_like_those_beside_their_name() -> None:
    index = "https://me:pw@host/simple"
    for values in ([index, "a"], (index, "a")):
        assert mask_settings({"secrets": values, "args": values, "maxTokens": 7}) == {
            "secrets": ["***", "***"],
            "args": ["https://***@host/simple", "a"],
            "maxTokens": 7,
        }


def test_names_of_places_are_shown() -> None:
    settings = {"apiKeyEnv": "MY_KEY", "apiKey": "$ENV:MY_KEY", "token": "$KEYRING:mine", "maxTokens": "many"}
    assert mask_settings(settings) == settings


def test_variables_that_settings_name_are_found_wherever_they_stand() -> None:
    settings = {"apiKey": "$ENV:A", "other": ["$ENV:B", ("$ENV:C", "D")], "keyring": "$KEYRING:E", "n": 1, "x": None}
    assert referenced_variables(settings) == {"A", "B", "C"}
