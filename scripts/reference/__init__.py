"""The reference pages of docs/, made from the program: `make reference` writes them, a test compares."""
