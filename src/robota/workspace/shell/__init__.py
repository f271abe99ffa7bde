"""Parse shell commands without running anything. Pure except for `expansion`; may use `text` only."""
