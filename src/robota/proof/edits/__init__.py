"""What calls changed in files, read from logs and checkpoints into an index that can be rebuilt."""
