"""Answers in Markdown as they stream: finished blocks are drawn once, only the last one is drawn again."""
