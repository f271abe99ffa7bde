"""Sessions that come from elsewhere and go elsewhere: forks, bundles for other machines, transcripts of other programs.
May use the catalogue and what is below it."""
