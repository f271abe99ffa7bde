"""What can be wrong with a path, a file or a command. The texts are written for the model that asked."""


class FileProblem(Exception):
    """A file operation was refused or failed. Nothing was changed."""


class InvalidPath(FileProblem):
    """The text is no usable path."""


class OutsideWorkspace(FileProblem):
    """The path leads out of the workspace, by itself or through a symbolic link."""


class Missing(FileProblem):
    """There is nothing at the path."""


class NotARegularFile(FileProblem):
    """There is a directory, pipe, device or socket at the path."""


class NotADirectory(FileProblem):
    """A directory was expected at the path."""


class TooBig(FileProblem):
    """The file is larger than the caller can take."""


class NotPermitted(FileProblem):
    """The file is write-protected, or the system refused the operation."""


class BinaryContent(FileProblem):
    """The bytes are not text."""


class Unencodable(FileProblem):
    """The text holds characters that the file's encoding does not have."""


class Ignored(FileProblem):
    """A person's ignore file keeps this path from the model."""


class NotRead(FileProblem):
    """The file exists, and the model wants to replace it without having read it."""


class FileChanged(FileProblem):
    """The file is no longer what the model read, or what an edit was worked out from."""


class Overtaken(Exception):
    """Somebody who does not lock changed a file at the last moment. It was left as they made it.

    `kept` is the name, beside the file, of an older version of theirs that had no place any more.
    """

    def __init__(self, kept: str | None = None) -> None:
        super().__init__(kept)
        self.kept = kept


class CommandNotStarted(Exception):
    """The command could not be started, so nothing ran."""


class RootReplaced(FileProblem, CommandNotStarted):
    """The path of the workspace leads to another directory than at the start of the session, or to none."""
