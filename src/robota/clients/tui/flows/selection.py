"""Which row of a list is chosen, and which rows fit on the screen."""

import msgspec


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The selected one of `count` rows, with `height` rows visible; `index` is None while nothing is selected."""

    count: int
    index: int | None = 0
    height: int = 8
    wraps: bool = True

    def moved(self, by: int) -> "Selection":
        """Move by one step, wrapping around if allowed. With nothing selected, select the first or last row."""
        if self.count == 0:
            return self
        if self.index is None:
            return msgspec.structs.replace(self, index=0 if by > 0 else self.count - 1)
        at = self.index + by
        at = at % self.count if self.wraps else max(0, min(self.count - 1, at))
        return msgspec.structs.replace(self, index=at)

    @property
    def visible(self) -> range:
        """The rows to show: they include the selected one, and never exceed the height."""
        height = max(1, self.height)
        first = max(0, min((self.index or 0) - height // 2, self.count - height))
        return range(first, min(self.count, first + height))
