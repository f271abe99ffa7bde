"""`robota trust`: whether the configuration of a workspace counts, and what it may tell from outside of itself."""
