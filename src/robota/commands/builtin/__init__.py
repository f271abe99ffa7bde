"""The built-in slash commands, a module for each family."""
