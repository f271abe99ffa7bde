"""`robota sessions`: one module per group of actions, imported when used. The work is done in `log`."""
