"""A tool's description for the model stands in a Markdown file beside its module and is read when needed."""

from collections.abc import Callable
from pathlib import Path


def description_beside(module_file: str) -> Callable[[], str]:
    """A reader for the `.md` twin of the module at `module_file`."""
    return lambda: Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()
