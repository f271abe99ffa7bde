"""The only place that knows prompt_toolkit: the live region, what is printed above it, keys, full screens."""
