"""A service that answers as a test has written down, byte by byte. For what a real one can't be made to do at will."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

# What happens to one connection: it is given the socket after the request was read.
Act = Callable[[socket.socket], None]


def answer(status: int, body: Any, **headers: str) -> Act:
    """A whole answer; `retry_after="1"` becomes a header."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(data)), "Connection": "close"}
    fields.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    return lambda connection: connection.sendall(head.encode() + data)


def refusal(status: int, code: str, **headers: str) -> Act:
    """An error of the service."""
    return answer(status, {"error": {"code": code, "message": f"refused: {code}", "field": "limits"}}, **headers)


def silence(seconds_event: threading.Event) -> Act:
    """Says nothing until the test is over."""
    return lambda connection: void(seconds_event.wait(30))


def hang_up(connection: socket.socket) -> None:
    """Closes without a word."""


def lines(*objects: Any, cut: bool = False) -> Act:
    """NDJSON in chunks; `cut` ends it in the middle."""

    def act(connection: socket.socket) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
            b"Connection: close\r\n\r\n"
        )
        for line in objects:
            data = line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() + b"\n"
            connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        if not cut:
            connection.sendall(b"0\r\n\r\n")

    return act


def void(_: object) -> None:
    """Reads an answer without content."""


class ScriptedService:
    """Answers the nth request with the nth act, and keeps what was asked."""

    def __init__(self, *acts: Act) -> None:
        self._acts = list(acts)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.requests: list[tuple[str, bytes]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> ScriptedService:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Ends `accept`; closing alone does not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=40)

    def _serve(self) -> None:
        for act in self._acts:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(_read(connection))
                act(connection)


def _read(connection: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = {line.split(b":")[0].lower(): line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")[1:]}
    if b"transfer-encoding" in fields:
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    while len(body) < int(fields.get(b"content-length", 0)):
        body += connection.recv(65536)
    return head.decode("latin-1"), body
