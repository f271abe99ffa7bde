"""The sandbox for commands: bubblewrap or Landlock with seccomp, what a command may access, and its network."""
