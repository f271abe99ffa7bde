"""Keeping a conversation within the window of the model: counting, condensing, leaving out. Part of the engine."""
