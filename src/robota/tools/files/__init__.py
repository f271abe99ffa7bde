"""Tools that read: read, list, glob, grep."""
