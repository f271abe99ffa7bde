"""Permission rules: how they are written, matched and suggested."""
