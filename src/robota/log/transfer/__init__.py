"""Sessions from and for other places: forks, bundles for other machines, transcripts of other programs.

May use the catalogue and what is below it.
"""
