"""One module a sub-command of `robota`, imported when it is named."""
