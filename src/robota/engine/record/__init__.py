"""What the engine writes down and shows: log and event bus, rows, history."""
