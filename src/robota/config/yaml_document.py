"""YAML that anybody may have written, read within limits of size, depth and kind."""

from typing import Any, Final

LONGEST: Final = 200_000
# The parser needs quadratic time for brackets in brackets.
MOST_BRACKETS: Final = 2_000
MOST_NODES: Final = 50_000
DEEPEST: Final = 50
# A plain value may be taken for a number, which takes time that grows with the square of its digits.
LONGEST_PLAIN: Final = 2_000


class YamlProblem(Exception):
    """The text is no YAML, or more than is read. The message says what is wrong, without a full stop."""


def read_yaml(text: str) -> Any:
    """Lists, dictionaries and plain values. No aliases: a few lines of them can stand for more than memory holds."""
    # Hardly any run reads such a file.
    import yaml

    if len(text) > LONGEST or text.count("[") + text.count("{") > MOST_BRACKETS:
        raise YamlProblem(f"it has more than {LONGEST:,} characters or {MOST_BRACKETS:,} brackets")
    try:
        _check(yaml, text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise YamlProblem(" ".join(str(error).split())) from error
    except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as error:
        # What the parser says of a date or a number that is none.
        raise YamlProblem(f"a value in it cannot be read ({error})") from error


def read_yaml_without_repeats(text: str) -> Any:
    """The same for a file that decides about something: a key that it has twice is a mistake, not an override."""
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
                repeated = next(key for place, key in enumerate(keys) if key in keys[:place])
                raise YamlProblem(f"it has the key {repeated[:40]} twice in one place")
            nodes += [value for _, value in node.value]
    return document


def _check(yaml: Any, text: str) -> None:
    """Look at the text piece by piece before anything is made of it. Raises `YamlProblem`."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise YamlProblem("aliases are not read; write each value where it belongs")
        if getattr(event, "tag", None) is not None:
            raise YamlProblem("tags such as !!int are not read")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        is_too_long = isinstance(event, yaml.ScalarEvent) and event.style is None and len(event.value) > LONGEST_PLAIN
        if depth > DEEPEST or number > MOST_NODES or is_too_long:
            raise YamlProblem(f"it is nested more than {DEEPEST} deep, or has too many or too long values")
