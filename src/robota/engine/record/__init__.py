"""What the engine writes down: journal, rows, history, meter."""
