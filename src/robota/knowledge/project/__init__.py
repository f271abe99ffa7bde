"""What a project is made of, found without a model: for the first AGENTS.md."""
