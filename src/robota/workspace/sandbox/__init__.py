"""What a command cannot do whatever it is: the operating system's own walls around it."""
