"""Tools that look at files: read, list, glob, grep."""
