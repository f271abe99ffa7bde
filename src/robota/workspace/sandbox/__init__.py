"""The sandbox around commands: bubblewrap or Landlock with seccomp, what a command may touch, and its network."""
