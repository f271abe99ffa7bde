"""The types that tools, policy, hooks and the engine share.

May use log, providers, workspace, config and protocol; contains no behaviour.
"""
