"""Token counts as servers write them: whole numbers, but also `100.0` and `"100"`. An odd one costs no answer."""

from typing import Any, Final, TypeVar

import msgspec

LARGEST: Final = 2**53  # more than that is no count, and not every JSON reader could take it

Shape = TypeVar("Shape", bound=msgspec.Struct)


def read_counts(raw: Any, shape: type[Shape]) -> Shape | None:
    """The usage in an event, without the fields that cannot be read; None if nothing is left."""
    if not isinstance(raw, dict):
        return None
    if (whole := _converted(raw, shape)) is not None:
        return whole
    kept = {name: value for name, value in raw.items() if _converted({name: value}, shape) is not None}
    return _converted(kept, shape) if kept else None


def _converted(raw: dict[str, Any], shape: type[Shape]) -> Shape | None:
    try:
        found = msgspec.convert(raw, shape, strict=False)
    except msgspec.ValidationError:
        return None
    return found if _is_plausible(found) else None


def _is_plausible(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return all(_is_plausible(getattr(value, name)) for name in value.__struct_fields__)
    return not isinstance(value, int | float) or -LARGEST <= value <= LARGEST
