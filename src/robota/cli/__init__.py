"""From arguments to a client. Fast paths import nothing heavy; each sub-command is imported when named."""
