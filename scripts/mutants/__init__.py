"""Break the program in small ways and see whether a test notices: `python -m scripts.mutants`."""
