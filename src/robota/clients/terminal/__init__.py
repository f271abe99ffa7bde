"""Terminal output and input for clients: lines with colours and width, keys, and signals."""
