"""What commands of a session must not see, and what they must not change."""
