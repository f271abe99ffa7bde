"""The errors of this room."""


class ConfigError(Exception):
    """Something is wrong with the settings. The text says where, what was left untouched and what to do next."""


class NoProviderError(ConfigError):
    """Nothing says which provider to use, because none was ever set up."""
