"""The kinds of records by family, each registered with `log.record`. Rooms above add their own likewise."""
