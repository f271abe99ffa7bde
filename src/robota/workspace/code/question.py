"""The questions about a symbol."""

from typing import Literal

Question = Literal["definition", "references", "callers", "implementations", "hover", "diagnostics"]
