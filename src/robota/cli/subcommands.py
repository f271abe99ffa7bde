"""The sub-commands: name → module, imported when named, and a line of help."""

# No import here, not even of typing: `--version` is done before the time that would take.
SUBCOMMANDS = {
    "demo": ("robota.cli.run.demo", "run a real task on the built-in scripted model: no key, no network"),
    "sessions": ("robota.cli.commands.sessions.command", "list, show, search, fork, export, import and watch sessions"),
    "context": ("robota.cli.commands.context", "show what filled the context window of the model in a session"),
    "state": ("robota.cli.commands.state", "what a session does or waits for, and how to answer it"),
    "answer": ("robota.cli.run.answer", "answer what a session waits for, and go on with it"),
    "rewind": ("robota.cli.commands.rewind", "go back in a session: what it changed, and the conversation"),
    "bisect": ("robota.cli.commands.bisect", "find the call of a session that broke a test"),
    "intents": ("robota.cli.commands.intents.intents", "what agents may work on in this repository"),
    "trace": (
        "robota.cli.commands.intents.trace",
        "whether the trace of what agents changed is as it was written",
    ),
    "why": ("robota.cli.commands.proof.why", "which call wrote a line, who wanted it and who allowed it"),
    "replay": ("robota.cli.commands.proof.replay", "run a recorded session again and name what is not as it was"),
    "report": ("robota.cli.commands.proof.report", "pack a session, covered, so that anybody can replay it"),
    "init": ("robota.cli.commands.init", "write a first AGENTS.md from a plain look at the project"),
    "instructions": ("robota.cli.commands.instructions", "show which instruction files the model is told, and why not"),
    "memory": ("robota.cli.commands.memory", "what is remembered between sessions: list, add, approve, forget, check"),
    "skills": ("robota.cli.commands.skills", "list, show, begin and check skills and prompt commands"),
    "plugin": ("robota.cli.commands.plugin", "install, update and remove plugins, know marketplaces"),
    "tool": ("robota.cli.commands.tool", "list the tools, run one by hand"),
    "config": ("robota.cli.commands.config", "show and change settings, and say which file set what"),
    "trust": ("robota.cli.commands.trust", "decide whether the configuration of a workspace takes effect"),
    "policy": ("robota.cli.commands.policy", "explain what may run and why, test rules, try others on past sessions"),
    "worktree": ("robota.cli.commands.worktree", "list and remove the worktrees that sessions (-w) left"),
    "mcp": ("robota.cli.commands.mcp.command", "add, import, test and approve MCP servers; be one"),
    "doctor": ("robota.cli.commands.doctor", "check everything Robota needs"),
    "protocol": ("robota.cli.commands.protocol", "for authors of clients: state of messages, JSON Schema"),
}
