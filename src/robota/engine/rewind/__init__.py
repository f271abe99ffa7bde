"""Going back in a session, files and conversation. Uses the log and the checkpoints of the workspace."""
