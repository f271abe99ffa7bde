"""The composition root: builds sessions from concrete parts, one module per part. May use every room but `cli`."""
