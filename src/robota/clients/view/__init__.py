"""Folds events into a view model that every drawing client shares. Pure; may use protocol."""
