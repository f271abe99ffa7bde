"""Images as people attach them, and as a model is shown them."""

from collections.abc import Iterable, Iterator

from robota.protocol.conversation import ImageBlock, ImageSource


def image_blocks(data_urls: Iterable[str]) -> Iterator[ImageBlock]:
    """Blocks for `data:image/png;base64,…` URLs; what is not one is left out."""
    for url in data_urls:
        head, comma, data = url.partition(",")
        media_type = head.removeprefix("data:").removesuffix(";base64")
        if comma and head.startswith("data:image/") and head.endswith(";base64"):
            yield ImageBlock(source=ImageSource(media_type=media_type, data=data))
