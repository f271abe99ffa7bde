"""Text that projects and users give the model: instruction files, skills, prompt commands, mentions and memory.

Uses workspace, config and contracts; never its siblings (tools, policy, hooks, extensions).
"""
