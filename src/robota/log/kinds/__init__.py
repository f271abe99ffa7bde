"""The kinds of records and the shape of each payload."""
