"""`--json-schema`: an answer that fits, one that is put right, one that never does."""

import json

import pytest

from tests.cli.scripts import script
from tests.harness.cli import Robota

SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


@pytest.mark.parametrize("answer", ['{"n": 1}', '```json\n{"n": 1}\n```'])
def test_an_answer_that_fits_is_printed_as_json(robota: Robota, answer: str) -> None:
    script(robota, {"text": answer})
    done = robota("-p", "count", "--json-schema", SCHEMA)
    assert (done.code, json.loads(done.stdout)) == (0, {"n": 1}), done.stderr


def test_a_wrong_answer_is_put_right_once(robota: Robota) -> None:
    script(robota, {"text": "It is one."}, {"expect": {"user": "is no JSON"}, "text": '{"n": 1}'})
    done = robota("-p", "count", "--json-schema", SCHEMA, "--output-format", "json")
    result = json.loads(done.stdout)
    assert done.code == 0 and result["structured_output"] == {"n": 1} and result["num_turns"] == 2


def test_an_answer_that_stays_wrong_is_a_failure(robota: Robota) -> None:
    script(robota, {"text": "It is one."}, {"text": '{"n": "one"}'}, {"text": "never asked for"})
    done = robota("-p", "count", "--json-schema", SCHEMA)
    assert (done.code, done.stdout) == (1, "")
    assert "does not fit --json-schema" in done.stderr and "$.n" in done.stderr


def test_a_schema_in_a_file_is_checked_before_anything_is_sent(robota: Robota) -> None:
    script(robota, {"text": '{"n": 1}'})
    file = robota.workspace / "schema.json"
    file.write_text(SCHEMA)
    assert robota("-p", "count", "--json-schema", str(file)).code == 0
    file.write_text('{"type": "nothing"}')
    done = robota("-p", "count", "--json-schema", str(file))
    assert done.code == 2 and "no JSON Schema" in done.stderr
    assert robota("count", "--json-schema", SCHEMA, "--plain").code == 2
