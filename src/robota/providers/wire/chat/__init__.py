"""The Chat Completions API of OpenAI and the many servers that speak it."""
