"""`robota policy test` and `policy simulate`: test cases and past calls to judge again."""
