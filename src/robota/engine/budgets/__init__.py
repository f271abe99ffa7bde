"""Accounts that limit what tasks spend: money, tokens, requests and time. Uses the log, `providers` and `config`."""
