"""The subcommands of `robota`, one module each, imported when the subcommand is used."""
