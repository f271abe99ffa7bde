"""Tool calls: the executor, the stages before a call runs, approval."""
