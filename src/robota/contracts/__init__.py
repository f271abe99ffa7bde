"""The few shapes that tools, policy, hooks and the engine share.

May use log, providers, workspace, config, protocol; holds no behaviour.
"""
