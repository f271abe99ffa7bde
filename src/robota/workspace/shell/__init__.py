"""What a shell command says, read without running anything. Pure but for `expansion`; may use `text` only."""
