"""Data: names of files that hold secrets, in projects and in home directories."""

from typing import Final

# Secrets of the project: neither read nor written without approval.
SECRETS: Final = tuple(
    ".env .env.* .envrc .netrc .pypirc .npmrc *.pem *.key *.p12 *.pfx *.kdbx *.jks *.keystore id_rsa* id_ed25519* "
    "id_ecdsa* .git-credentials .htpasswd secrets.yaml secrets.yml secrets.json credentials.json".split()
)
NO_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
# Credentials of the user; no command of an agent needs to go there.
CREDENTIAL_STORES: Final = tuple(
    ".ssh .aws .gnupg .kube .docker/config.json .config/gh .config/gcloud .azure .password-store .local/share/keyrings "
    ".git-credentials .netrc .pgpass".split()
)
