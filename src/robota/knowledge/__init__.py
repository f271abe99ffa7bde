"""What a project and its people tell the model: instruction files, skills, prompt commands and memory.

Uses workspace, config and contracts; never its siblings (tools, policy, hooks, extensions).
"""
