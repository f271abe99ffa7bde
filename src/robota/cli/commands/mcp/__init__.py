"""The actions of `robota mcp`: `command` has the parser, each other module some of the actions."""
