"""The network of sandboxed commands: a proxy to the hosts on a list."""
