"""The hash-chained log file: records, writing, reading, repair, verification, fsync."""
