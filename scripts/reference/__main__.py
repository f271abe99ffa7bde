"""`python -m scripts.reference`: write every reference page."""

from scripts.reference.pages import DOCS, PAGES

for name, make in PAGES.items():
    (DOCS / name).write_text(make(), encoding="utf-8")
