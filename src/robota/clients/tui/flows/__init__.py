"""The meaning of keys and typed text. Pure: no UI library, no clock, no I/O."""
