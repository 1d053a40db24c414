"""Common parts of the adversary's programs: options, exit code, and an HTTP client for a running service with one
kept-alive connection per thread and busy answers retried."""

import argparse
import http.client
import json
import threading
import time
import urllib.parse

ANSWER_SECONDS = 300
BUSY_ATTEMPTS = 60


class ServiceError(Exception):
    """The service did not answer a request with a verdict."""


class Service:
    """A running service, by its base URL."""

    def __init__(self, url, key=None):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise SystemExit(f"--server {url}: expected an address such as http://127.0.0.1:8080")
        self.host, self.port = parts.hostname, parts.port or 80
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self.local = threading.local()
        self.lock = threading.Lock()
        self.requests = 0

    def execute(self, request):
        """Returns the verdict as a dict. Raises ServiceError for any status but 200."""
        status, answer = self.post("/v1/execute", request)
        if status != 200:
            raise ServiceError(f"status {status}: {json.dumps(answer)[:300]}")
        return answer

    def post(self, path, body):
        text = json.dumps(body)
        for attempt in range(BUSY_ATTEMPTS):
            status, answer = self._exchange(path, text)
            with self.lock:
                self.requests += 1
            if status != 429:
                return status, answer
            time.sleep(min(2.0, 0.05 * (attempt + 1)))
        raise ServiceError("the service stays busy")

    def _exchange(self, path, text):
        for attempt in range(2):
            connection = getattr(self.local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self.local.connection = http.client.HTTPConnection(self.host, self.port, timeout=ANSWER_SECONDS)
            try:
                connection.request("POST", path, text.encode(), self.headers)
                response = connection.getresponse()
                answer = response.read()
                return response.status, json.loads(answer) if answer[:1] == b"{" else {"text": answer[:300].decode("utf-8", "replace")}
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self.local.connection = None
                # A connection that was idle may have been closed by the service meanwhile.
                if fresh or attempt:
                    raise ServiceError(f"{type(error).__name__}: {error}") from error


def is_infrastructure_error(answer):
    """Returns whether the verdict says that the service failed, or any of its cases does."""
    return "infrastructure_error" in (answer.get("status"), answer.get("stderr_class")) or any(
        case.get("stderr_class") == "infrastructure_error" for case in answer.get("cases") or ()
    )


def parser_of(description, *, jobs, item, finding):
    """Returns a parser with the options that all programs have. `item` and `finding` name what they try and what they find."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="base URL of a running service")
    parser.add_argument("--key", help="API key, where the service asks for one")
    parser.add_argument("--seconds", type=float, default=30, help="how long to go on (30)")
    parser.add_argument("--seed", type=int, default=1, help=f"the same seed makes the same {item}s (1)")
    parser.add_argument("--jobs", type=int, default=jobs, help=f"requests at once ({jobs})")
    parser.add_argument("--first", type=int, default=0, metavar="N", help=f"number of the first {item}; with --{item}s 1 repeats a {finding}")
    parser.add_argument(f"--{item}s", type=int, default=0, metavar="N", help=f"how many {item}s; 0 means as many as there is time for (0)")
    parser.add_argument("--keep", metavar="DIR", help=f"directory for the requests of {finding}s, as JSON")
    return parser


def exit_code(tried, found, failed, broken):
    """Prints the last lines of a program. Returns 0, 1 when something failed, or 2 when nothing was tried."""
    if broken:
        print(f"stopped early: {type(broken).__name__}: {broken}")
    print(f"{max(0, tried - found)} passed, {failed} failed")
    if not tried:
        return 2
    return 1 if failed else 0
