"""E2B's SDK, unmodified, with E2B_DOMAIN alone: everything over TLS, sandboxes by their names.

A proxy stands in for the DNS that such a domain has: it leads every name below it to SERVER, and sees bytes only.
"""

import asyncio
import os
import socket
import threading

from e2b import AsyncSandbox, Sandbox as Plain
from e2b_code_interpreter import Sandbox

DOMAIN = os.environ["E2B_DOMAIN"]
HOST, _, PORT = DOMAIN.partition(":")
NAMES = set()


def pump(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def connect(client):
    head = b""
    while b"\r\n\r\n" not in head:
        head += client.recv(4096)
    method, target, _ = head.split(b" ", 2)
    assert method == b"CONNECT", head
    name, _, port = target.decode().rpartition(":")
    assert port == (PORT or "443"), target
    NAMES.add(name)
    host, port = os.environ["SERVER"].rsplit(":", 1)
    server = socket.create_connection((host, int(port)))
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)


def listen():
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=connect, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def main():
    proxy = listen()
    for name in ("E2B_API_URL", "E2B_SANDBOX_URL", "E2B_DEBUG"):
        assert name not in os.environ, name
    with Sandbox.create(timeout=120, proxy=proxy) as sandbox:
        assert sandbox.run_code("6 * 7").text == "42"
        sandbox.files.write("a.txt", "hello")
        assert sandbox.files.read("a.txt") == "hello"
        assert sandbox.commands.run("cat a.txt").stdout == "hello"
        assert sandbox.get_host(3000) == f"3000-{sandbox.sandbox_id}.{DOMAIN}"
        assert Plain.connect(sandbox.sandbox_id, proxy=proxy).is_running()
        mine = {f"{port}-{sandbox.sandbox_id}.{HOST}" for port in (49983, 49999)}
        assert f"api.{HOST}" in NAMES and mine <= NAMES, NAMES
        sandbox.kill()

    async def plain():
        sandbox = await AsyncSandbox.create(timeout=60, proxy=proxy)
        assert (await sandbox.commands.run("echo hi")).stdout == "hi\n"
        await sandbox.kill()

    asyncio.run(plain())
    print("all passed", flush=True)
    # Without taking the interpreter down: a thread of the SDK may still be waking the loop that has ended, and aborts then.
    os._exit(0)


main()
