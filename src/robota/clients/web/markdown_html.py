"""Markdown as blocks of HTML. While a text grows, finished blocks are rendered once and only the last one again."""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from robota.clients.web.code_html import code_block_html
from robota.clients.web.safe_html import cleaned, escaped
from robota.text.visible import without_controls

# Blocks of finished rows, which every new reader of a session gets again.
CACHED: Final = 1024


@lru_cache(maxsize=CACHED)
def blocks_of(text: str) -> tuple[str, ...]:
    """A complete text as blocks of HTML."""
    tokens = _parser().parse(without_controls(text))
    return tuple(_rendered(block) for block in _top_level(tokens))


class GrowingMarkdown:
    """A text that arrives in pieces. `settled` are its finished blocks, which never change again."""

    def __init__(self) -> None:
        self.settled: list[str] = []
        self._rest = ""

    def add(self, text: str) -> None:
        """More text."""
        self._rest += without_controls(text)

    def last_block(self) -> str:
        """Settle what can no longer change, and return the block that may, as HTML."""
        blocks = list(_top_level(_parser().parse(self._rest)))
        if not blocks:
            return ""
        *finished, growing = blocks
        if finished and growing[0].map is not None:
            self.settled += [_rendered(block) for block in finished]
            self._rest = "".join(self._rest.splitlines(keepends=True)[growing[0].map[0] :])
        return _rendered(growing)


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _rendered(tokens: list[Token]) -> str:
    parser = _parser()
    return cleaned(str(parser.renderer.render(tokens, parser.options, {})))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("image", _image)
    return parser


def _fence(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    language = token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""
    return f"<pre><code>{code_block_html(token.content.rstrip(chr(10)), language)}</code></pre>\n"


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A link instead: an image of another site would tell it what is read here."""
    source = escaped(str(tokens[index].attrGet("src") or ""))
    return f'<a href="{source}">{escaped(tokens[index].content or "image")}</a>'
