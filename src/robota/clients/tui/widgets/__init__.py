"""Widgets: rows of coloured text, made from values. Nothing here reads keys or makes decisions."""
