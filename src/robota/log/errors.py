"""What can go wrong with a log, in words for a person."""


class LogError(Exception):
    """The text says what happened, what was left untouched and what to do next."""


class LogInUse(LogError):
    """Another process writes this log."""


class LogExists(LogError):
    """A new log was to be made where there is one already."""


class LogUnreadable(LogError):
    """The file is missing, is no regular file, or may not be read."""


class LogNewer(LogError):
    """A newer version of the program wrote the log."""


class LogWriteError(LogError):
    """A record, or something kept beside the log, could not be written or made safe."""


class ArtifactMissing(LogError):
    """There is no artifact of that name, or it is damaged."""


class SessionNotFound(LogError):
    """No session has this id."""


class SessionAmbiguous(LogError):
    """Several sessions begin with this text."""


class InvalidSessionId(LogError):
    """The text cannot be a session id, because it could not safely name a directory."""


class NoPlaceForSessions(LogError):
    """Neither the project nor the fallback can hold sessions."""


class ImportRefused(LogError):
    """A file holds no session that can be taken in."""
