"""Tools that change files: write, edit, diff, patch; matching, placement and drafts behind them."""
