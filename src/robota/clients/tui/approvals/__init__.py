"""Requests for approval while they are open: which is shown, what was shown of it. Uses flows and widgets."""
