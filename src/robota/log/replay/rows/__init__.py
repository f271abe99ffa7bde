"""The rows of a task from its records: closed rows, pages of rows, and the calls among them."""
