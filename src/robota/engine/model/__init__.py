"""One reply of the model: system prompt, request, retries, reading the stream, calls as XML."""
