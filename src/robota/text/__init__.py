"""Making control characters, bidirectional and invisible text visible. May use nothing of robota."""
