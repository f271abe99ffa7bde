"""Reads untrusted YAML within limits of size, depth and type."""

from typing import Any, Final

MAX_LENGTH: Final = 200_000
# The parser takes quadratic time for nested brackets.
MAX_BRACKETS: Final = 2_000
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 50
# Converting a plain value to a number takes quadratic time in its digits.
MAX_PLAIN_SCALAR: Final = 2_000


class YamlProblem(Exception):
    """The text is not valid YAML or exceeds a limit. The message has no full stop."""


def read_yaml(text: str) -> Any:
    """Read lists, dictionaries and plain values. Aliases are refused, because a few lines can expand without limit."""
    # Imported here, because hardly any run reads such a file.
    import yaml

    if len(text) > MAX_LENGTH or text.count("[") + text.count("{") > MAX_BRACKETS:
        raise YamlProblem(f"it has more than {MAX_LENGTH:,} characters or {MAX_BRACKETS:,} brackets")
    try:
        _check(yaml, text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlProblem(" ".join(str(error).split())) from error
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # The parser raises this for an invalid date or number.
        raise YamlProblem(f"a value in it cannot be read ({error})") from error


def read_yaml_without_repeats(text: str) -> Any:
    """Like `read_yaml`, but a duplicate key is an error, for files that decide about something."""
    document = read_yaml(text)
    import yaml

    nodes = [yaml.compose(text, Loader=yaml.SafeLoader)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                repeated = next(key for index, key in enumerate(keys) if key in keys[:index])
                raise YamlProblem(f"it has the key {repeated[:40]} twice in one place")
            nodes += [value for _, value in node.value]
    return document


def _check(yaml: Any, text: str) -> None:
    """Check the tokens of the text before it is loaded. Raises `YamlProblem`."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise YamlProblem("aliases are not supported; write each value where it is used")
        if getattr(event, "tag", None) is not None:
            raise YamlProblem("tags such as !!int are not supported")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        is_too_long = (
            isinstance(event, yaml.ScalarEvent) and event.style is None and len(event.value) > MAX_PLAIN_SCALAR
        )
        if depth > MAX_DEPTH or number > MAX_NODES or is_too_long:
            raise YamlProblem(f"it is nested more than {MAX_DEPTH} deep, or has too many or too long values")
