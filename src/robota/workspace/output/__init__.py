"""What commands print: kept, paced, paged, searched."""
