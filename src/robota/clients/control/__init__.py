"""The control protocol of Claude's SDKs: a program drives a session by exchanging lines of JSON with it."""
