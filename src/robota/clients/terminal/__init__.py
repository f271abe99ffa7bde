"""The terminal that a client writes to: lines with colours and width, and signals while it runs."""
