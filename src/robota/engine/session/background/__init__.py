"""Background work of a session: what clients are told of it, what the user does with it, and groups of agents."""
