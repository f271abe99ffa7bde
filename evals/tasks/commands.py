"""Tasks about commands: one that says much, one that stays, one that asks."""

from typing import Final

from evals.task import Task, answer_has, called

LONG: Final = """for number in range(20_000):
    print(f"record {number}: " + ("FAILED, checksum differs" if number == 11_111 else "imported"))
"""
SERVER: Final = """import hashlib
from http.server import BaseHTTPRequestHandler, HTTPServer


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(hashlib.sha256(self.path.encode()).hexdigest()[:8].encode())


HTTPServer(("127.0.0.1", 8765), Answer).serve_forever()
"""
ASKS: Final = """name = input("Name of the project? ")
if input(f"Really {name}? [y/n] ") != "y":
    raise SystemExit("Nothing was written.")
open("project.ini", "w").write(f"name = {name}\\n")
"""

TASKS: Final = (
    Task(
        name="long-output",
        files={"load.py": LONG},
        prompt="Run load.py. Which record could not be imported, and why?",
        acceptance="git diff --quiet HEAD",
        checks=(called("execute_command"), answer_has(r"11[,._]?111", "checksum")),
    ),
    Task(
        name="server",
        files={"server.py": SERVER},
        prompt="Start server.py, request /status from it on port 8765, and tell me the answer. Stop it afterwards.",
        acceptance="git diff --quiet HEAD",
        checks=(answer_has("ae4267a0"),),
    ),
    Task(
        name="interactive-command",
        files={"configure.py": ASKS},
        prompt="Run configure.py so that the project is called demo.",
        acceptance="grep -qx 'name = demo' project.ini && git diff --quiet HEAD",
    ),
)
