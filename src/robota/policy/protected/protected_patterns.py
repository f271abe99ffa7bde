"""Files that steer tools, run code by themselves or hold secrets: touching them is always worth a question. Data."""

from typing import Final

# Written to, these run code, change what an agent may do, or change what other tools do.
STEERING: Final = tuple(
    """
    .git .gitmodules .gitattributes .gitconfig .config/git .husky .pre-commit-config.yaml lefthook.yml .lefthook
    .robota .robotaignore .orchestration
    .roo .roomodes .rooignore .roorules .clinerules .claude .claude.json .cursor .codex .gemini
    .agents .windsurf .continue .amazonq .kiro .zed .opencode .crush .qwen
    .mcp.json .aider.conf.yml opencode.json .vscode .idea .devcontainer *.code-workspace
    .envrc .direnv .tool-versions mise.toml .bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile
    .zlogin .bash_logout .bash_aliases
    .npmrc .yarnrc .yarnrc.yml .yarn .pnp.cjs .pnpmfile.cjs bunfig.toml .cargo .mvn gradle-wrapper.properties .bazelrc
    .gdbinit .lldbinit .vimrc .exrc .nvimrc .dir-locals.el .inputrc .curlrc .wgetrc .Rprofile .bundle
    .ripgreprc .pypirc .netrc conftest.py sitecustomize.py usercustomize.py pyrightconfig.json
    *.pth rust-toolchain rust-toolchain.toml *venv/bin node_modules/.bin
    .github/workflows .github/actions .gitlab-ci.yml .circleci .travis.yml Jenkinsfile
    """.split()
)
STEERING_DOTS: Final = tuple(pattern for pattern in STEERING if pattern.startswith("."))
# Secrets of the project: neither read nor written without a question.
SECRETS: Final = tuple(
    ".env .env.* .envrc .netrc .pypirc .npmrc *.pem *.key *.p12 *.pfx *.kdbx *.jks *.keystore id_rsa* id_ed25519* "
    "id_ecdsa* .git-credentials .htpasswd secrets.yaml secrets.yml secrets.json credentials.json".split()
)
NO_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")
# Where credentials of a person live; no command of an agent has business there.
CREDENTIAL_STORES: Final = tuple(
    ".ssh .aws .gnupg .kube .docker/config.json .config/gh .config/gcloud .azure .password-store .local/share/keyrings "
    ".git-credentials .netrc .pgpass".split()
)
