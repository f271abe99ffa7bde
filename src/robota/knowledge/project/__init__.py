"""Scans a project without a model, and writes its first AGENTS.md."""
