"""The rows of a task as its records tell them: closed, page by page, and the calls that stand among them."""
