"""The network of the machine for sandboxed commands, without the abstract Unix sockets of programs outside."""
