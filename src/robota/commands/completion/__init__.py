"""What may be typed next in a prompt: commands, the words behind them, and what can be mentioned."""
