"""Parse typed lines as answers; shared by the interactive clients. Pure; may use protocol."""
