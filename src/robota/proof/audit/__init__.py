"""The audit page of a project: what was allowed and refused, and what left the machine."""
