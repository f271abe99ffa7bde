"""`robota sessions`: one module a group of actions, imported when one of them is named. What they do is in `log`."""
