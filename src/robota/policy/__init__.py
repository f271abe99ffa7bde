"""Who may do what: modes and rules, as pure functions. May use contracts and below; asks nobody, runs nothing."""
