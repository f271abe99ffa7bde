"""What commands print: captured, shown at a bounded rate, read in pages, searched."""
