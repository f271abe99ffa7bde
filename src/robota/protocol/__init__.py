"""The language engine and clients speak: pure data and pure functions over it.

Uses msgspec, nothing else of robota, no I/O.
"""
