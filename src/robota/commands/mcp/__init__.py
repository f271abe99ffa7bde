"""What the verbs of MCP servers do: edit entries, start servers, sign in."""
