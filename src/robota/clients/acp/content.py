"""Content blocks of the Agent Client Protocol, in prompts and in updates."""

from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

MAX_NAME: Final = 200


class AcpValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The base of everything that crosses the wire; unknown fields are ignored, as the protocol demands."""


class AcpContent(AcpValue, frozen=True, kw_only=True, tag_field="type"):
    """A piece of content."""


class TextContent(AcpContent, frozen=True, kw_only=True, tag="text"):
    """Text, in Markdown."""

    text: str


class ImageContent(AcpContent, frozen=True, kw_only=True, tag="image"):
    """An image in base64."""

    data: str
    mime_type: str


class AudioContent(AcpContent, frozen=True, kw_only=True, tag="audio"):
    """Sound. Robota does not accept it, and says so when it is introduced."""

    data: str
    mime_type: str


class ResourceLink(AcpContent, frozen=True, kw_only=True, tag="resource_link"):
    """A file or page that the user mentions; the model reads it if it has to."""

    uri: str
    name: str = ""


class EmbeddedText(AcpValue, frozen=True, kw_only=True):
    """The contents of a file as the editor has them, or bytes that are no text."""

    uri: str
    text: str | None = None
    blob: str | None = None


class EmbeddedResource(AcpContent, frozen=True, kw_only=True, tag="resource"):
    """A file with its contents."""

    resource: EmbeddedText


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class PromptWords(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt as the engine takes it."""

    text: str
    images: tuple[str, ...] = ()


def prompt_in(blocks: tuple[ContentBlock, ...], cwd: str) -> PromptWords:
    """The prompt in the blocks. Links become mentions, and embedded files follow the words of the user."""
    words: list[str] = []
    files: list[str] = []
    images: list[str] = []
    for block in blocks:
        match block:
            case TextContent(text=text):
                words.append(text)
            case ResourceLink(uri=uri, name=name):
                words.append(mention_of(uri, name, cwd))
            case EmbeddedResource(resource=EmbeddedText(uri=uri, text=str(text))):
                words.append(mention_of(uri, "", cwd).removeprefix("@"))
                files.append(_quoted_file(path_in(uri, cwd), text))
            case EmbeddedResource(resource=EmbeddedText(uri=uri)):
                words.append(mention_of(uri, "", cwd))
            case ImageContent(data=data, mime_type=kind):
                images.append(f"data:{kind};base64,{data}")
            case AudioContent():
                words.append("(a recording, which cannot be heard here)")
    return PromptWords(text="\n\n".join(filter(None, (_joined(words), *files))), images=tuple(images))


def _joined(words: list[str]) -> str:
    """The pieces of a prompt in one text; a mention does not touch what is before and behind it."""
    joined = ""
    for piece in words:
        is_apart = not joined or joined[-1].isspace() or not piece or piece[0].isspace() or piece[0] in ",.;:!?)"
        joined += piece if is_apart else f" {piece}"
    return joined.strip()


def mention_of(uri: str, name: str, cwd: str) -> str:
    """A link as the user would type it: `@path` for a file, else its name and address."""
    path = path_in(uri, cwd)
    if urlsplit(uri).scheme in ("file", ""):
        return f'@"{path}"' if any(map(str.isspace, path)) else f"@{path}"
    return f"[{name[:MAX_NAME]}]({uri})" if name else uri


def path_in(uri: str, cwd: str) -> str:
    """The path in a `file:` address, relative to the workspace if it is in there; another address as it is."""
    parts = urlsplit(uri)
    if parts.scheme not in ("file", ""):
        return uri
    path = unquote(parts.path)
    root = cwd.rstrip("/") + "/"
    return path[len(root) :] if path.startswith(root) else path


def _quoted_file(path: str, text: str) -> str:
    """A file in a prompt; nothing in it can end the quotation."""
    name = path.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'<file path="{name}">\n{text.replace("</file", "&lt;/file")}\n</file>'
