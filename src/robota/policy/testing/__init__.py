"""`robota policy test` and `policy simulate`: evaluates test cases and past calls."""
