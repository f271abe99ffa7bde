"""Language servers as guests: found, started in the sandbox, asked, and ended. May use the rest of the workspace."""
