"""Thin readers of the event stream. Each may use protocol and clients.view, nothing else of robota."""
