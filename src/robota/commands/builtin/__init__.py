"""The built-in slash commands, one module per family."""
