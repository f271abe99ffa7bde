"""Errors of the log, worded for the user."""


class LogError(Exception):
    """The text says what happened, what was left untouched and what to do next."""


class LogInUse(LogError):
    """Another process is writing this log."""


class LogExists(LogError):
    """A new log was requested where one already exists."""


class LogUnreadable(LogError):
    """The file is missing, is not a regular file, or may not be read."""


class LogNewer(LogError):
    """A newer version of the program wrote the log."""


class LogWriteError(LogError):
    """A record, or a file next to the log, could not be written or synced."""


class ArtifactMissing(LogError):
    """The artifact does not exist or is damaged."""


class SessionNotFound(LogError):
    """No session has this id."""


class SessionAmbiguous(LogError):
    """Several sessions begin with this text."""


class InvalidSessionId(LogError):
    """The text cannot be a session id, because it could not safely name a directory."""


class NoPlaceForSessions(LogError):
    """Neither the project nor the fallback can hold sessions."""


class ImportRefused(LogError):
    """The file does not contain a session that can be imported."""
