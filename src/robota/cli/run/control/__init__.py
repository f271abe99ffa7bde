"""Sessions for programs that speak the control protocol of Claude's SDKs."""
