"""The page for the person who must answer for an agent: what was allowed, what was refused, what left."""
