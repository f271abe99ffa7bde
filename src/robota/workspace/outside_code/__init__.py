"""Files of the workspace that programs outside the sandbox run.

They are found by reading commands and scripts, and compared with what the user agreed to. May use the shell reader and
the agreements of `config.trust`.
"""
