"""`robota update`: check for a newer version, and say which command installs it."""

import os
from typing import Final

from robota.cli.update.check import NO_INDEX, check_now, newer_version
from robota.cli.update.installation import source_directory, update_command
from robota.commands.verb import Answer, Family, NoArguments, ProgramVerb, VerbFailed, told
from robota.commands.verb_host import VerbHost
from robota.version import VERSION


def show_update(host: VerbHost, args: NoArguments) -> Answer:
    """Check now. Nothing is installed: a program must not replace itself without being told to."""
    result = check_now(os.environ)
    directory = source_directory()
    if result.error_message == NO_INDEX and directory is not None:
        return told(f"Robota {VERSION} was installed from {directory}. To update: {update_command()}")
    if result.error_message is not None:
        raise VerbFailed(
            f"Could not check for a newer version: {result.error_message.rstrip('.')}. Nothing was changed. "
            f"To update without a check: {update_command()}"
        )
    return told(newer_version(result) or f"Robota {VERSION} is the newest version.")


FAMILY: Final = Family(
    name="update",
    about="Check for a newer version, and show the command that installs it. Nothing is installed.",
    main=ProgramVerb("update", "", NoArguments, show_update),
)
