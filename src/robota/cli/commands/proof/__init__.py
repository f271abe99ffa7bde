"""`robota why`, `robota replay`, `robota report` and `robota audit`."""
