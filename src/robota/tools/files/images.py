"""Image files as a model can be shown them."""

from base64 import b64encode

from robota.protocol.conversation import ImageSource

MAX_IMAGE_BYTES = 5 * 1024 * 1024


def image_type(data: bytes) -> str | None:
    """The media type by the first bytes, whatever the file is called; None if it is no image that models take."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in BEGINNINGS if data.startswith(start)), None)


def image_source(data: bytes, media_type: str) -> ImageSource:
    return ImageSource(media_type=media_type, data=b64encode(data).decode("ascii"))


BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
