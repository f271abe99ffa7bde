"""The newest records of the kinds of which only the newest applies."""

from typing import TypeVar

import msgspec

from robota.log.record import Payload, Record, kind_of

P = TypeVar("P", bound=Payload)


class NewestRecords(msgspec.Struct):
    """Payloads by their kind, as JSON, so that a snapshot can hold kinds of every package."""

    payloads: dict[str, msgspec.Raw] = {}

    def put(self, record: Record) -> None:
        """Add a record that was found readable."""
        self.payloads[record.kind] = record.payload.copy()

    def get(self, payload_type: type[P]) -> P | None:
        """The newest payload of this type."""
        payload = self.payloads.get(kind_of(payload_type))
        return None if payload is None else payload_type.from_json(payload)
