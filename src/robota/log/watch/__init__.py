"""Following a log that another process writes, without locking or changing it. May use the catalogue and the chain."""
