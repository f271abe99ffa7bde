"""Protected paths, and path resolution."""
