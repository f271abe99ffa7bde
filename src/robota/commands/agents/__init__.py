"""What the verbs of agents do."""
