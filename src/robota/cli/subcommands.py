"""The sub-commands: name → module, imported when named, and a line of help."""

# No import here, not even of typing: `--version` is done before the time that would take.
SUBCOMMANDS = {
    "demo": ("robota.cli.run.demo", "run a real task on the built-in scripted model: no key, no network"),
    "sessions": ("robota.commands.families.sessions", "list, show, search, fork, export, import and watch sessions"),
    "cost": (
        "robota.commands.families.proof.cost",
        "show what was spent, by day, project, model or agent, and the budgets",
    ),
    "context": ("robota.commands.families.context", "show what fills the context window of a session"),
    "state": ("robota.commands.families.state", "show whether a session is running, or what it is waiting for"),
    "answer": ("robota.cli.run.answer", "answer the question a session is waiting on and continue it"),
    "attach": ("robota.cli.run.elsewhere.attach", "open another window on a running session"),
    "ps": ("robota.commands.families.running.ps", "list the running sessions, and what each waits for"),
    "inbox": ("robota.cli.run.elsewhere.inbox", "answer the open questions of all sessions, or list them"),
    "stop": ("robota.commands.families.running.stop", "end a running session; it can be resumed"),
    "serve": (
        "robota.cli.run.elsewhere.serve",
        "run a session for other programs, over streams or a socket",
    ),
    "web": ("robota.cli.run.elsewhere.web", "show the sessions in a browser, on this machine or a phone"),
    "acp": ("robota.cli.run.elsewhere.acp", "run sessions for an editor: the Agent Client Protocol"),
    "rewind": ("robota.commands.families.rewinding", "undo: restore files and conversation to an earlier point"),
    "bisect": ("robota.commands.families.proof.bisect", "find the tool call in a session that broke a test"),
    "intents": ("robota.commands.families.intents", "manage intents: what agents may work on in this repository"),
    "trace": (
        "robota.commands.families.proof.trace",
        "verify and export the trace of changes made by agents",
    ),
    "why": ("robota.commands.families.proof.why", "show which prompt, call and approval produced a line"),
    "replay": ("robota.commands.families.proof.replay", "re-run a recorded session and report the first difference"),
    "report": ("robota.commands.families.proof.report", "pack a redacted session that others can replay"),
    "audit": (
        "robota.commands.families.proof.audit",
        "report what agents did here, who approved it, what was sent out",
    ),
    "init": ("robota.commands.families.init", "write a first AGENTS.md by inspecting the project"),
    "instructions": ("robota.commands.families.instructions", "show which instruction files are loaded, and why"),
    "memory": ("robota.commands.families.memory", "manage what is remembered between sessions"),
    "agents": ("robota.commands.families.agents", "list, show, create and validate agents"),
    "skills": ("robota.commands.families.skills", "list, show, create and validate skills and prompt commands"),
    "plugin": ("robota.commands.families.plugins", "install, update and remove plugins; manage marketplaces"),
    "tool": ("robota.commands.families.tool", "list the tools, or run one by hand"),
    "config": ("robota.commands.families.config", "show and change settings, and where each one is set"),
    "trust": ("robota.commands.families.trust", "review and trust the configuration of a workspace"),
    "policy": ("robota.commands.families.policy", "explain, test and simulate permission rules"),
    "hooks": ("robota.commands.families.hooks", "show the hooks and what each runs"),
    "worktree": ("robota.commands.families.worktrees", "list and remove worktrees created by sessions (-w)"),
    "mcp": ("robota.commands.families.mcp", "add, import, test and approve MCP servers, or act as one"),
    "models": ("robota.cli.configure.models", "list the models that your providers offer"),
    "login": ("robota.cli.configure.login", "store an API key, in the system keyring if there is one"),
    "logout": ("robota.cli.configure.logout", "remove a stored API key"),
    "doctor": ("robota.commands.families.doctor", "diagnose the set-up; --fix repairs what it can"),
    "update": ("robota.cli.update.command", "check for a newer version, and show how to install it"),
    "protocol": ("robota.commands.families.protocol", "tools for client authors: agent state, JSON Schema"),
    "completion": ("robota.cli.help.completion_command", "print a completion script for bash, zsh or fish"),
    "help": ("robota.cli.help.command", "show this page, a command, or a documentation page"),
}
# Those that `--help` explains; the others are only named there.
EVERYDAY = (
    "demo",
    "login",
    "models",
    "init",
    "sessions",
    "rewind",
    "config",
    "policy",
    "mcp",
    "doctor",
)
# Those without arguments that are plain verbs, too: further words make a prompt of them, as in "update the readme".
PLAIN_VERBS = ("update",)


def is_subcommand(arguments: "list[str]") -> bool:
    """Whether the command line names a sub-command. It may also begin with options or with a prompt."""
    if not arguments or arguments[0] not in SUBCOMMANDS:
        return False
    return arguments[0] not in PLAIN_VERBS or all(word.startswith("-") for word in arguments[1:])
