"""Why a request to a model failed."""

from robota.protocol.wire import Value


class Fault(Value, frozen=True, kw_only=True):
    """The failure of a request, in a form that scripts can act on."""

    kind: str
    message: str
    retryable: bool = False
    status: int | None = None
