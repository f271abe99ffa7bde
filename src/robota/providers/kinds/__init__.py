"""One module a provider type: its definition and what is special about it."""
