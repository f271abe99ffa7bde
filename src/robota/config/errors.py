"""The errors of this package."""


class ConfigError(Exception):
    """The settings are invalid or cannot be used. The message says where, what was left untouched and what to do."""


class NoProviderError(ConfigError):
    """No provider has been set up."""
