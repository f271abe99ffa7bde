"""Agents that a task starts: in this process, side by side, each with a conversation and a log of its own."""
