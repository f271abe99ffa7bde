"""Reduce events to a view model for clients that draw. Pure; may use protocol."""
