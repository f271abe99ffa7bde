"""Full-text search over the logs of many sessions, in an SQLite index that is updated before each search.

May use the catalogue and what is below it.
"""
