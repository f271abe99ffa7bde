"""`robota doctor`: checks, and repairs of some problems."""
