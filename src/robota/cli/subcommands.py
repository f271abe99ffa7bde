"""The sub-commands: name → module, imported when named, and a line of help."""

# No import here, not even of typing: `--version` is done before the time that would take.
SUBCOMMANDS = {
    "demo": ("robota.cli.demo", "run a real task on the built-in scripted model: no key, no network"),
    "sessions": ("robota.cli.sessions", "list sessions, verify the chain of a session's log"),
    "protocol": ("robota.cli.protocol", "for authors of clients: state of messages, JSON Schema"),
}
