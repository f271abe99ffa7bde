"""The calls of a log, each with what led to it and who let it run."""
