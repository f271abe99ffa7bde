"""`robota doctor`: what is checked, and what of it can be mended."""
