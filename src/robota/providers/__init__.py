"""Who answers: provider definitions, wire formats, the one place of network I/O, faults, the scripted model.

May use config and protocol.
"""
