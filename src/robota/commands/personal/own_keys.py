"""The user's key bindings, read from their file."""

from collections.abc import Mapping

from robota.clients.tui.personal.own_keys import OwnKeys, read_keys
from robota.config.appearance_files import key_bindings_content


def load_keys(env: Mapping[str, str]) -> OwnKeys:
    """The bindings of all keys; the default ones if there is no file, or if it is invalid."""
    try:
        content = key_bindings_content(env)
    except OSError as error:
        return OwnKeys(problems=(f"{error.strerror or error}. The usual keys are used.",))
    return OwnKeys() if content is None else read_keys(content)
