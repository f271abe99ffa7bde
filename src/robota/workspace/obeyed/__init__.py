"""What other programs obey because of its name: whether a name is one of those, and which links give it to a place."""
