"""Events of sessions over HTTP: nothing is lost or told twice, however a connection ends."""

import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.web_page import web_page
from tests.serving.test_door import serving

WRITE = {"calls": [call("write_to_file", path="a.txt", content="a\n")]}
RACES = 5
LONG = "One word after the other.\n\n" * 30


def test_a_cut_stream_goes_on_where_it_was(robota: Robota) -> None:
    """At each kind of event: what a page has after it was cut and connected again is what another page has."""
    todos = call("update_todo_list", todos="[ ] one")
    output = call("execute_command", command="seq 3")
    first = {"reasoning": "Thinking.", "text": LONG, "chunkDelayMs": 1, "calls": [todos, output]}
    script(robota, first, WRITE, {"text": "Done."}, retry={"baseMs": 1, "maxRetries": 2})
    with web_page(robota) as server:
        server.enter()
        session_id = server.start("write")
        cut = _Page()
        stream = server.events(session_id)
        kinds = set()
        while not cut.asks("tool"):
            for change in stream:
                kinds.add(change["t"] if change["t"] != "panel" else change["name"])
                cut.take(change)
                break
            last_id = stream.last_id
            stream.close()
            stream = server.events(session_id, last_id)
        whole = _Page()
        for change in server.events(session_id):
            whole.take(change)
            break
        assert cut.rows == whole.rows and cut.panels["asks"] == whole.panels["asks"]
        assert cut.wholes == 1  # everything else was a continuation
        assert kinds >= {"whole", "row", "call", "asks"}, kinds
        # An id of another run of the session, or of the future, gives everything.
        for odd in ("0:1", f"{last_id}9", "", "x", last_id.partition(":")[0]):
            assert next(iter(server.events(session_id, odd)))["t"] == "whole", odd


def test_a_page_shows_a_session_of_another_process_and_sees_its_end(robota: Robota) -> None:
    script(robota, WRITE, {"text": "Done."})
    with serving(robota) as session, web_page(robota) as server:
        session.send(type="newTask", text="write")
        session.until_ask("tool")
        server.enter()
        [listed] = [each for each in server.get("/api/sessions").json if each["isRunning"]]
        assert (listed["id"], listed["isHere"]) == (session.id, False)
        events = server.events(session.id)
        ask = events.until_ask("tool")
        assert server.answer(session.id, ask, kind="approve").json["receipt"] == "accepted"
        late = server.answer(session.id, ask, kind="approve").json
        assert (late["receipt"], late["code"]) == ("refused", "stale_ask")
        session.until_ask("completion_result")
        session.process.kill()
        assert [change["t"] for change in events][-1] == "over"
        assert server.command(session.id, type="newTask", text="more").status == 404
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_of_clients_that_answer_at_once_one_wins(robota: Robota) -> None:
    """Two pages and the process of the session, in every order that the machine makes of it."""
    script(
        robota,
        *({"calls": [call("write_to_file", path=f"{number}.txt", content="a")]} for number in range(RACES)),
        {"text": "Done."},
    )
    with serving(robota) as session, web_page(robota) as server, ThreadPoolExecutor(3) as pool:
        session.send(type="newTask", text="write")
        server.enter()
        events = server.events(session.id)
        answered: list[int] = []
        for _ in range(RACES):
            ask, begin = next(ask for ask in events.asks("tool") if ask["ts"] not in answered), Barrier(3)
            answered.append(ask["ts"])

            def answer(ask: dict[str, Any] = ask, begin: Barrier = begin) -> str:
                begin.wait()
                reply = server.answer(session.id, ask, kind="reject").json
                return str(reply.get("code", reply["receipt"]))

            def answer_there(ask: dict[str, Any] = ask, begin: Barrier = begin) -> None:
                begin.wait()
                session.send(type="askResponse", ts=ask["ts"], answer={"kind": "reject"})

            there = pool.submit(answer_there)
            given = sorted(each.result() for each in [pool.submit(answer) for _ in range(2)])
            there.result()
            assert given in (["accepted", "stale_ask"], ["stale_ask", "stale_ask"])
        events.until_ask("completion_result")


def test_two_hundred_tabs_hear_everything(robota: Robota) -> None:
    script(robota, WRITE, {"text": "Done."})
    with web_page(robota) as server:
        server.enter()
        session_id = server.start("write")
        tabs = [server.events(session_id) for _ in range(200)]
        asks = [tab.until_ask("tool") for tab in tabs]
        assert len({ask["ts"] for ask in asks}) == 1
        server.answer(session_id, asks[0], kind="approve")
        for tab in tabs:
            tab.until_ask("completion_result")
            tab.close()


def test_readers_that_do_not_read_hold_up_nobody(robota: Robota) -> None:
    """Hundreds of connections, most of which send half a request or never read what they get."""
    script(robota, {"text": LONG * 20, "chunkSize": 200}, {"text": "Done."})
    with web_page(robota) as server:
        server.enter()
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        for each in idle[:100]:
            each.sendall(b"GET /api/me HTTP/1.1\r\nhost:")
        session_id = server.start("write a lot")
        head = "".join(f"{name}: {value}\r\n" for name, value in server.headers("GET").items())
        for each in idle[100:]:
            request = f"GET /api/sessions/{session_id}/events HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n{head}\r\n"
            each.sendall(request.encode())
        server.events(session_id).until_ask("completion_result")
        assert server.get("/api/me").status == 200
        for each in idle:
            each.close()


def test_the_longest_answer_is_cut_for_the_page(robota: Robota) -> None:
    script(robota, {"text": "some words here. " * 230_000, "chunkSize": 500_000})
    with web_page(robota) as server:
        server.enter()
        session_id = server.start("say much")
        server.events(session_id).until_ask("completion_result")
        whole = next(iter(server.events(session_id)))
        [row] = [row for row in whole["rows"] if row["kind"] == "answer"]
        assert row["length"] > 3_900_000 and len(row["text"]) < 110_000 and "are not shown" in row["text"]


def test_stored_sessions_are_renamed_forked_trashed_and_restored(robota: Robota) -> None:
    script(robota, {"text": "Hello."}, {"text": "Hello."})
    with web_page(robota) as server:
        server.enter()
        session_id = server.start("first words")
        server.events(session_id).until_ask("completion_result")
        assert server.post(f"/api/sessions/{session_id}/close").status == 200
        manage = f"/api/sessions/{session_id}/manage"
        assert server.post(f"{manage}/rename", {"name": "better"}).status == 200
        fork = server.post(f"{manage}/fork", {"name": "copy"}).json["id"]
        names = {each["id"]: each["name"] for each in server.get("/api/sessions").json}
        assert names == {session_id: "better", fork: "copy"}
        assert server.post(f"{manage}/delete").status == 200
        assert [each["id"] for each in server.get("/api/sessions").json] == [fork]
        assert server.post(f"/api/sessions/{session_id}/resume").status == 409
        assert server.post(f"{manage}/restore").status == 200
        assert server.post(f"/api/sessions/{session_id}/resume").status == 200
        refused = server.post(f"{manage}/delete")
        assert refused.status == 409 and "running" in refused.json["message"]


class _Page:
    """Rows and panels as the page keeps them."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.panels: dict[str, Any] = {}
        self.wholes = 0

    def take(self, change: dict[str, Any]) -> None:
        match change["t"]:
            case "whole":
                self.wholes += 1
                self.rows = {row["ts"]: row for row in change["rows"]}
                self.panels = change["panels"]
            case "row":
                self.rows[change["row"]["ts"]] = change["row"]
            case "prose":
                row = self.rows[change["ts"]]
                blocks = [*row.get("blocks", [])[: change["start"]], *change.get("blocks", [])]
                self.rows[change["ts"]] = {**row, "blocks": blocks}
            case "panel":
                self.panels = {**self.panels, change["name"]: change["value"]}

    def asks(self, kind: str) -> bool:
        return any(row["ask"] == kind for row in self.panels.get("asks", []))
