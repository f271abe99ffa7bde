"""A conversation in plain lines at a terminal: every ask can be answered, nothing is drawn twice."""
