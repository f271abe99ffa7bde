"""YAML for scripts, in a module of its own: only who writes YAML pays for the parser."""

from typing import Any

import yaml


class YamlError(ValueError):
    """The text says what is wrong and in which line."""


def parse_yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlError(" ".join(str(error).split())) from error
