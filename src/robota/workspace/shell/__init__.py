"""What a shell command says, read without running anything. Pure data out; may use nothing of robota."""
