"""What keys and typed text mean. Pure: no UI library, no clock, no I/O."""
