"""Mentions: words behind `@` in a prompt that name files, directories and git revisions."""
