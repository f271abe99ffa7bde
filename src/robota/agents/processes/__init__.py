"""Sessions in processes of their own, connected by the protocol over standard streams."""
