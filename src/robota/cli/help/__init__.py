"""What the command line tells of itself: the first page, pages by topic, completions for shells, the man page."""
