"""Built-in tools: one module per tool, next to its description for the model.

May use contracts and below; does not decide about permissions.
"""
