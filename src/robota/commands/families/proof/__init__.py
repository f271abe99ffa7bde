"""What can be shown about a session afterwards: the verbs of provenance, replay and audit."""
