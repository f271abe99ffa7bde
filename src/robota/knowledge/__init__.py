"""What a project and its people tell the model: instruction files, skills and prompt commands.

Uses workspace, config and contracts; never its siblings (tools, policy, hooks, extensions).
"""
