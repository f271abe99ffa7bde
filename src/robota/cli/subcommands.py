"""The sub-commands: name → module, imported when named, and a line of help."""

# No import here, not even of typing: `--version` is done before the time that would take.
SUBCOMMANDS = {
    "demo": ("robota.cli.demo", "run a real task on the built-in scripted model: no key, no network"),
    "sessions": ("robota.cli.sessions", "list sessions, verify the chain of a session's log"),
    "tool": ("robota.cli.tool", "list the tools, run one by hand"),
    "config": ("robota.cli.config", "show and change settings, and say which file set what"),
    "trust": ("robota.cli.trust", "decide whether the configuration of a workspace takes effect"),
    "policy": ("robota.cli.policy", "explain what may run and why, test the rules, try others on past sessions"),
    "worktree": ("robota.cli.worktree", "list and remove the worktrees that sessions (-w) left"),
    "mcp": ("robota.cli.mcp", "look at MCP servers and what changed in them, approve the changes"),
    "doctor": ("robota.cli.doctor", "check everything Robota needs"),
    "protocol": ("robota.cli.protocol", "for authors of clients: state of messages, JSON Schema"),
}
