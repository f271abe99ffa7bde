"""What the model is told of a project and its person, put together for a session."""
