"""The output of commands: captured, shown at a bounded rate, read in pages, searched."""
