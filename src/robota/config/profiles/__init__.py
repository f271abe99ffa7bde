"""Provider profiles and the choice between them."""
