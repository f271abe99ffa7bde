"""A recorded session run again: what it is made of, what answers in place of model and tools, the comparison."""
