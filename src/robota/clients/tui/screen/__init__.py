"""The only package that uses prompt_toolkit: the live region, the output above it, keys, full screens."""
