"""The append-only, hash-chained log of a session: writing, loading, repair, projections.

May use workspace, config, protocol.
"""
