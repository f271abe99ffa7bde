"""The kinds of records by family, and the registry in which rooms above add their own. May use log.record."""
