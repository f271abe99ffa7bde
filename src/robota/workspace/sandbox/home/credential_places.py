"""Data: where programs keep credentials, in a home directory and wherever a variable moves them."""

from typing import Final

# Relative to a home directory. A directory stands for everything in it.
IN_A_HOME: Final = tuple(
    # Keys, agents and password stores.
    ".ssh .gnupg .gnupg2 .password-store .local/share/keyrings .local/share/kwalletd .config/keepassxc .config/op "
    ".config/1Password .config/Bitwarden .config/age .config/sops .pki .vault-token .step .minisign .signify "
    # Clouds, containers and infrastructure.
    ".aws .azure .kube .oci .aliyun .bluemix .doctl .fly .config/gcloud .config/doctl .config/hcloud .config/fly "
    ".config/scw .config/linode-cli .config/containers/auth.json .docker/config.json .docker/contexts .boto .s3cfg "
    ".config/rclone .rclone.conf .terraform.d/credentials.tfrc.json .terraformrc .pulumi/credentials.json .chef "
    ".vagrant.d/data .ansible/vault .config/helm .config/configstore .netlify .vercel .local/share/com.vercel.cli "
    ".heroku .wrangler .config/.wrangler .supabase .config/stripe "
    # Forges and package registries.
    ".git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .config/tea .config/berg .netrc "
    "_netrc .authinfo .authinfo.gpg .npmrc .config/pnpm/rc .config/pnpm/auth.ini .yarnrc.yml .pypirc "
    ".config/pypoetry/auth.toml .config/hatch .local/share/hatch/credentials .local/share/uv/credentials "
    ".cargo/credentials .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml "
    ".gradle/gradle.properties .gradle/init.d .ivy2/.credentials .sbt/.credentials .gem/credentials "
    ".local/share/gem/credentials .bundle/config .composer/auth.json .config/composer/auth.json .nuget/NuGet "
    ".config/NuGet .hex/hex.config .pub-cache/credentials.json .config/dart .conan2/.conan.db "
    ".conan2/credentials.json .conan/.conan.db .rattler .continuum .config/anaconda .rye/credentials .nimble/.token "
    ".julia/servers .luarocks/upload_config.lua .foundry/keystores .dotnet/corefx .config/solana .jupyter "
    # Models and coding agents.
    ".robota .claude .claude.json .config/claude .codex .gemini .qwen .config/opencode .local/share/opencode "
    ".config/github-copilot .copilot .cursor .continue .aider.conf.yml .config/goose .config/zed .ollama/id_ed25519 "
    ".cache/huggingface/token .cache/huggingface/stored_tokens .huggingface .kaggle .config/kaggle .openai "
    ".config/openai .config/anthropic .config/io.datasette.llm .config/wandb .config/Code .config/Cursor .windsurf "
    ".codeium "
    # Databases, mail, chat and browsers.
    ".pgpass .my.cnf .mylogin.cnf .config/dbeaver .local/share/DBeaverData .dbshell .mongorc.js .snowflake "
    ".databrickscfg .dbt/profiles.yml .msmtprc .fetchmailrc .mutt .muttrc .config/mutt .mbsyncrc .config/weechat "
    ".weechat .irssi .thunderbird .mozilla .config/google-chrome .config/chromium .config/BraveSoftware "
    ".config/microsoft-edge .config/vivaldi .config/opera .var/app .config/Slack .config/discord .config/Signal "
    ".local/share/TelegramDesktop .electrum .bitcoin .ethereum .config/evolution .local/share/evolution "
    # Remote access, and what was typed.
    ".config/remmina .local/share/remmina .putty .vnc .ansible_vault_password .smbcredentials .Xauthority "
    ".ICEauthority .bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history".split()
)
# Names of such files inside the directories of tools that a variable can move: hidden wherever the tool's files are.
IN_A_TOOL: Final = {
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "GRADLE_USER_HOME": ("gradle.properties", "init.d"),
    "COMPOSER_HOME": ("auth.json",),
    "HF_HOME": ("token", "stored_tokens"),
    "GEM_HOME": ("credentials",),
    "RYE_HOME": ("credentials",),
    "PULUMI_HOME": ("credentials.json",),
    "PUB_CACHE": ("credentials.json",),
    "HEX_HOME": ("hex.config",),
    "CONAN_HOME": (".conan.db", "credentials.json"),
    "CONAN_USER_HOME": (".conan.db",),
    "BUNDLE_USER_HOME": ("config",),
    "DOTNET_CLI_HOME": (".dotnet/corefx", ".nuget/NuGet"),
    "FOUNDRY_DIR": ("keystores",),
    "JULIA_DEPOT_PATH": ("servers",),
    "OLLAMA_HOME": ("id_ed25519",),
}
# Variables whose value is a file or directory with credentials, or a list of them separated by colons.
NAMED_BY_VARIABLES: Final = tuple(
    "GNUPGHOME AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_WEB_IDENTITY_TOKEN_FILE KUBECONFIG DOCKER_CONFIG "
    "REGISTRY_AUTH_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG AZURE_CONFIG_DIR AZURE_FEDERATED_TOKEN_FILE "
    "OCI_CLI_CONFIG_FILE BOTO_CONFIG S3CMD_CONFIG RCLONE_CONFIG RCLONE_CONFIG_DIR TF_CLI_CONFIG_FILE "
    "NPM_CONFIG_USERCONFIG npm_config_userconfig NPM_CONFIG_GLOBALCONFIG NETRC PGPASSFILE PGSERVICEFILE MYSQL_HOME "
    "PIP_CONFIG_FILE HF_TOKEN_PATH GH_CONFIG_DIR GLAB_CONFIG_DIR CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CONFIG_DIR "
    "COPILOT_HOME OPENCODE_CONFIG_DIR PASSWORD_STORE_DIR SOPS_AGE_KEY_FILE ANSIBLE_VAULT_PASSWORD_FILE "
    "KRB5CCNAME KRB5_KTNAME KRB5_CLIENT_KTNAME XAUTHORITY ICEAUTHORITY XDG_RUNTIME_DIR HELM_REGISTRY_CONFIG "
    "HELM_REPOSITORY_CONFIG VAULT_CONFIG_PATH CONTAINER_AUTH_FILE UV_CREDENTIALS_DIR KAGGLE_CONFIG_DIR "
    "DBT_PROFILES_DIR DATABRICKS_CONFIG_FILE SNOWFLAKE_HOME JUPYTER_CONFIG_DIR MAILRC MUTTRC".split()
)
# File names that say that a directory which the user wants to make visible holds credentials.
TELLING_NAMES: Final = frozenset(
    "credentials credentials.json credentials.toml .credentials.json auth.json oauth_creds.json token .netrc .npmrc "
    ".pypirc .git-credentials .pgpass id_rsa id_ed25519 id_ecdsa id_dsa hosts.yml .env settings-security.xml "
    "logins.json key4.db cookies.sqlite wallet.dat".split()
)
