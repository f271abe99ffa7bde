"""Mentions: words after `@` in a prompt that name files, directories, git revisions, web pages and more."""
