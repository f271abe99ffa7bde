"""The class of an edit: declared by the model, checked by comparing syntax trees."""

from collections.abc import Callable
from enum import StrEnum

import msgspec


class MutationClass(StrEnum):
    """A refactoring of the same behaviour, or changed behaviour."""

    AST_REFACTOR = "AST_REFACTOR"
    INTENT_EVOLUTION = "INTENT_EVOLUTION"


class ClassifiedChange(msgspec.Struct, frozen=True, kw_only=True):
    """`checked` is what is recorded. `is_known` is false where no syntax tree could be compared."""

    declared: MutationClass | None
    checked: MutationClass
    is_known: bool

    @property
    def differs(self) -> bool:
        """Whether the declaration of the model contradicts the syntax trees."""
        return self.declared is not None and self.declared is not self.checked


# The normalised syntax tree of a text: equal shapes mean equal behaviour. None if it cannot be parsed.
ShapeOf = Callable[[str, bytes], str | None]


def classify(
    path: str, before: bytes | None, after: bytes | None, declared: MutationClass | None, shape_of: ShapeOf
) -> ClassifiedChange:
    """Classify a change. A new, deleted or unparsable file counts as changed behaviour."""
    shapes = [None if data is None else shape_of(path, data) for data in (before, after)]
    is_known = None not in shapes
    is_same = is_known and shapes[0] == shapes[1]
    checked = MutationClass.AST_REFACTOR if is_same else MutationClass.INTENT_EVOLUTION
    return ClassifiedChange(declared=declared, checked=checked, is_known=is_known)
