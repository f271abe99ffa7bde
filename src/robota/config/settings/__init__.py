"""Settings files: schema, layers, validation, merging, writing."""
