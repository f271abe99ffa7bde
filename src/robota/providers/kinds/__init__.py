"""One module per provider type: its definition and its peculiarities."""
