"""What commands in the sandbox see of the home directory. Uses only the standard library, `secrets` and `process`."""
