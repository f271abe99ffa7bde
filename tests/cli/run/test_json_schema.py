"""`--json-schema`: an answer that fits, one that is put right, one that never does."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from robota.cli.command_line import UsageError
from robota.cli.run import answer_schema
from robota.cli.run.answer_schema import AnswerSchema
from tests.cli.scripts import script
from tests.harness.cli import Robota

SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


@pytest.mark.parametrize("answer", ['{"n": 1}', '```json\n{"n": 1}\n```'])
def test_an_answer_that_fits_is_printed_as_json(robota: Robota, answer: str) -> None:
    script(robota, {"text": answer})
    done = robota("-p", "count", "--json-schema", SCHEMA)
    assert (done.code, json.loads(done.stdout)) == (0, {"n": 1}), done.stderr


def test_a_wrong_answer_is_put_right_once(robota: Robota) -> None:
    script(robota, {"text": "It is one."}, {"expect": {"user": "is not JSON"}, "text": '{"n": 1}'})
    done = robota("-p", "count", "--json-schema", SCHEMA, "--output-format", "json")
    result = json.loads(done.stdout)
    assert done.code == 0 and result["structured_output"] == {"n": 1} and result["num_turns"] == 2


def test_an_answer_that_stays_wrong_is_a_failure(robota: Robota) -> None:
    script(robota, {"text": "It is one."}, {"text": '{"n": "one"}'}, {"text": "never asked for"})
    done = robota("-p", "count", "--json-schema", SCHEMA)
    assert (done.code, done.stdout) == (1, "")
    assert "does not match --json-schema" in done.stderr and "$.n" in done.stderr


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "string", "pattern": "^(a+)+$"}, id="pattern"),
        pytest.param({"patternProperties": {"^(a+)+$": {}}}, id="patternProperties"),
        pytest.param({"$ref": "#"}, id="itself"),
    ],
)
def test_a_schema_that_takes_for_ever_is_given_up(schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema may come from a repository, and the answer from a model."""
    monkeypatch.setattr(answer_schema, "CHECK_S", 1.0)
    hostile = "a" * 40 + "!"
    answer, problem = AnswerSchema(schema).checked(
        json.dumps({hostile: 1} if "patternProperties" in schema else hostile)
    )
    assert hostile in answer and problem is not None and problem.startswith("It could not be checked")


def test_references_out_of_a_schema_are_refused(tmp_path: Path) -> None:
    """Neither files nor other machines are read."""
    secret = tmp_path / "secret.json"
    secret.write_text('{"enum": ["a secret"]}')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        for reference in (secret.as_uri(), f"http://127.0.0.1:{port}/x", str(secret), "#/$defs/nothing"):
            with pytest.raises(UsageError, match="does not exist in the schema"):
                AnswerSchema({"properties": {"x": {"$ref": reference}}})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_references_within_a_schema_are_followed() -> None:
    number = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}
    named = {"$id": "https://x.example/all", "$defs": {"n": {"$id": "https://x.example/n", "type": "integer"}}}
    meta = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert AnswerSchema(number).checked("[1]") == ("[1]", None)
    assert AnswerSchema(number).checked('["x"]')[1] == "At $[0]: 'x' is not of type 'integer'."
    assert AnswerSchema({**named, "items": {"$ref": "https://x.example/n"}}).checked('["x"]')[1] is not None
    assert AnswerSchema(meta).checked('{"type": 7}')[1] is not None


def test_a_schema_in_a_file_is_checked_before_anything_is_sent(robota: Robota) -> None:
    script(robota, {"text": '{"n": 1}'})
    file = robota.workspace / "schema.json"
    file.write_text(SCHEMA)
    assert robota("-p", "count", "--json-schema", str(file)).code == 0
    file.write_text('{"type": "nothing"}')
    done = robota("-p", "count", "--json-schema", str(file))
    assert done.code == 2 and "not a valid JSON Schema" in done.stderr
    assert robota("count", "--json-schema", SCHEMA, "--plain").code == 2
