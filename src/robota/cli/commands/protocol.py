"""`robota protocol …`: for authors of other clients."""

import json
import sys
from collections.abc import Sequence

from robota.cli.command_parser import CommandParser
from robota.protocol.codec import ProtocolError, decode_messages, encode
from robota.protocol.schema import protocol_schema
from robota.protocol.state import detect_agent_state


def main(argv: Sequence[str]) -> int:
    """Run `robota protocol`."""
    if parser().read(argv).command == "schema":
        print(json.dumps(protocol_schema(), indent=2))
        return 0
    return _state()


def parser() -> CommandParser:
    """The actions of `robota protocol`."""
    parser = CommandParser(prog="robota protocol", description="Tools for authors of clients.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="ACTION")
    commands.add_parser("state", help="read a JSON array of messages on stdin, print the agent's state as JSON")
    commands.add_parser("schema", help="print the JSON Schema of messages, commands and events")
    return parser


def _state() -> int:
    try:
        messages = decode_messages(sys.stdin.buffer.read())
    except ProtocolError as error:
        print(f"robota: cannot read the messages: {error}", file=sys.stderr)
        return 1
    print(encode(detect_agent_state(messages)).decode())
    return 0
