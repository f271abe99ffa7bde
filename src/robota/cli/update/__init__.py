"""Whether a newer version is published: asked at most once a day."""
