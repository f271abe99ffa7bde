"""What is remembered: the append-only hash-chained log of a session, loading and repair, projections.

May use workspace, config, protocol.
"""
