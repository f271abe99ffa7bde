"""What is drawn: rows of text with colours, made from values. Nothing here reads keys or decides."""
