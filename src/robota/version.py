"""The version, as a constant: reading package metadata at start would cost more than the rest of `--version`."""

VERSION = "0.1.0"
