"""The hash-chained log file: writing, reading, repair, verification, fsync."""
