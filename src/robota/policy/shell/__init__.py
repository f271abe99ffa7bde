"""What policy says of shell commands."""
