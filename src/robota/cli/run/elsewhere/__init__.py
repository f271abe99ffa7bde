"""Sessions and windows in different processes: attach to one, serve one, start one without a terminal."""
