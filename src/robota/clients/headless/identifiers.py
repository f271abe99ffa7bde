"""Random identifiers. The `uuid` module would cost more at start than all the identifiers of a run."""

import os


def new_uuid() -> str:
    """A random UUID (version 4) in its usual form."""
    bits = bytearray(os.urandom(16))
    bits[6] = bits[6] & 0x0F | 0x40
    bits[8] = bits[8] & 0x3F | 0x80
    digits = bits.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_message_id() -> str:
    return f"msg_{os.urandom(12).hex()}"
