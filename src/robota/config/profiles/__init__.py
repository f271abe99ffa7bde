"""Provider profiles: what one says, and which of them is meant."""
