"""Open requests for approval: which one is shown, and how much of it. Uses flows and widgets."""
