"""Which row of a list is chosen, and which rows fit on the screen."""

import msgspec


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A chosen row of `count`, of which `height` are visible; `index` is None while nothing is chosen."""

    count: int
    index: int | None = 0
    height: int = 8
    wraps: bool = True

    def moved(self, by: int) -> "Selection":
        """One step further, from the end to the beginning if it wraps. From nowhere it leads to the first or last."""
        if self.count == 0:
            return self
        if self.index is None:
            return msgspec.structs.replace(self, index=0 if by > 0 else self.count - 1)
        at = self.index + by
        at = at % self.count if self.wraps else max(0, min(self.count - 1, at))
        return msgspec.structs.replace(self, index=at)

    @property
    def visible(self) -> range:
        """The rows to show: always with the chosen one, and never more than fit."""
        height = max(1, self.height)
        first = max(0, min((self.index or 0) - height // 2, self.count - height))
        return range(first, min(self.count, first + height))
