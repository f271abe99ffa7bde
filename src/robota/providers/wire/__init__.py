"""Wire formats: a body builder and a reply parser each, and what they share."""
