"""Renders an audit page as Markdown, or as one self-contained HTML page."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from robota.proof.audit.page import AuditPage, PageTable, Paragraph

# A second barrier behind the escaping: the page may not load or run anything.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; width: 100%; }
th, td { border-bottom: 1px solid #8886; padding: .25rem .5rem; text-align: left; vertical-align: top; }
h1, p, td { overflow-wrap: anywhere; }
:root { color-scheme: light dark; }
@media (max-width: 45rem) {
  thead { display: none; }
  tr { display: block; border-bottom: 1px solid #8886; padding: .5rem 0; }
  td { border: 0; display: grid; grid-template-columns: 8rem 1fr; padding: .1rem 0; }
  td::before { content: attr(data-column); font-weight: bold; }
}
@media print { body { margin: 0; max-width: none; } }
"""
NOTHING: Final = "Nothing."
# Characters with a meaning in a cell of a Markdown table.
SPECIAL: Final = str.maketrans({each: f"\\{each}" for each in "\\`*_[]<>|#~"})


def markdown_of(page: AuditPage) -> str:
    """The page as Markdown."""
    return "\n".join(_markdown(page)) + "\n"


def _markdown(page: AuditPage) -> Iterator[str]:
    yield f"# {page.title.translate(SPECIAL)}"
    for section in page.sections:
        yield f"\n## {section.heading}"
        for part in section.parts:
            yield ""
            if isinstance(part, Paragraph):
                yield part.text.translate(SPECIAL)
            elif not part.rows:
                yield NOTHING
            else:
                yield from _markdown_table(part)


def _markdown_table(table: PageTable) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(cell.translate(SPECIAL) for cell in row)} |"


def html_page_of(page: AuditPage) -> str:
    """The page as HTML, without scripts or external resources."""
    body = "\n".join(_html(page))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(page: AuditPage) -> Iterator[str]:
    yield f"<h1>{escape(page.title)}</h1>"
    for section in page.sections:
        yield f"<h2>{escape(section.heading)}</h2>"
        for part in section.parts:
            if isinstance(part, Paragraph):
                yield f"<p>{escape(part.text)}</p>"
            elif not part.rows:
                yield f"<p>{NOTHING}</p>"
            else:
                head = "".join(f"<th>{escape(name)}</th>" for name in part.columns)
                yield f"<table><thead><tr>{head}</tr></thead><tbody>"
                yield from (f"<tr>{_cells(part, row)}</tr>" for row in part.rows)
                yield "</tbody></table>"


def _cells(table: PageTable, row: Sequence[str]) -> str:
    """Cells with the name of their column, which a narrow screen shows instead of the header row."""
    pairs = zip(table.columns, row, strict=True)
    return "".join(f'<td data-column="{escape(name)}">{escape(cell)}</td>' for name, cell in pairs)
