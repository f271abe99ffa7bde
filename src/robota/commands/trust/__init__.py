"""What the verb `trust` does: show what a workspace would load, and ask."""
