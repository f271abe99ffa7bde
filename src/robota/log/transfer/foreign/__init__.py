"""Transcripts of other programs, read line by line whatever they contain, and written down as sessions of ours."""
