"""The HTTP door: the sessions of this user for pages in a browser. Nothing here is imported but by `robota web`."""
