"""Data: files of a home directory that programs run when the user logs in, opens a shell or starts a desktop.

They are protected where the home, or a directory that contains it, is the workspace.
"""

from typing import Final

START_UP_NAMES: Final = tuple(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .profile.d .zshrc .zshenv .zprofile .zlogin "
    ".zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .hushlogin .config/fish .config/nushell .oh-my-zsh "
    ".pam_environment .environment .xprofile .xinitrc .xsession .xsessionrc .Xresources .ssh .gnupg .config/autostart "
    ".config/environment.d .config/systemd .config/plasma-workspace .local/bin .local/lib .local/share/applications "
    ".local/share/systemd .local/share/dbus-1 .local/share/kservices5 .local/share/nautilus .local/share/flatpak bin "
    ".cargo/bin .cargo/env .cargo/config.toml .pyenv .nvm .asdf .volta .gitconfig .config/git .hgrc .npmrc .yarnrc "
    ".vimrc .vim .config/nvim .emacs .emacs.d .config/emacs .tmux.conf .config/tmux .screenrc .gdbinit .config/gdb "
    ".lldbinit .pythonrc .config/pip .pip .Rprofile .irbrc .pryrc .config/mise .config/direnv .direnvrc .crontab "
    ".fetchmailrc .procmailrc .forward .muttrc .config/i3 .config/sway .config/hypr .config/openbox .fluxbox "
    ".claude .claude.json .codex .gemini .config/opencode .config/Code .vscode .docker/config.json .kube .aws".split()
)
