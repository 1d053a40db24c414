//! Sockets whose both ends are in one interpreter.

use serde_json::json;

use crate::harness::{Server, assert_shows, run};
use crate::sessions::Session;

/// Runs a program and returns its output.
async fn output(code: &str) -> String {
    let answer = run(code).await;
    assert_shows(&answer, json!({"status": "ok"}));
    answer["stdout"].as_str().expect("text").to_owned()
}

/// An echo server in a thread, for one connection after the other; `port` is its own.
const ECHO: &str = "\
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
port = server.getsockname()[1]
def serve():
    while True:
        connection, _ = server.accept()
        with connection:
            while data := connection.recv(1024):
                connection.sendall(data.upper())
threading.Thread(target=serve, daemon=True).start()
";

#[tokio::test]
async fn a_thread_serves_what_the_program_connects_to() {
    let code = "\
for host in ('localhost', '127.0.0.1', ''):
    with socket.create_connection((host, port), timeout=5) as client:
        client.sendall(b'hello')
        client.shutdown(socket.SHUT_WR)
        print(client.recv(3), client.makefile('rb').read(), client.getpeername() == server.getsockname())
";
    assert_eq!(output(&format!("{ECHO}{code}")).await, "b'HEL' b'LO' True\n".repeat(3));
}

#[tokio::test]
async fn errors_are_those_of_elsewhere() {
    let code = "\
import errno
def fails(function):
    try:
        function()
    except OSError as error:
        print(type(error).__name__, error.errno and errno.errorcode[error.errno])
free = socket.socket()
free.bind(('127.0.0.1', 0))
fails(lambda: socket.create_connection(free.getsockname()))
fails(lambda: socket.create_server(('127.0.0.1', port)).close())
fails(lambda: free.recv(1))
client = socket.create_connection(('127.0.0.1', port))
client.settimeout(0.01)
fails(lambda: client.recv(1))
client.setblocking(False)
fails(lambda: client.recv(1))
client.close()
fails(lambda: client.recv(1))
one, other = socket.socketpair()
other.close()
try:
    one.send(b'x')
except BrokenPipeError:
    print('broken')
fails(lambda: socket.socket(socket.AF_UNIX).connect('/tmp/none'))
fails(lambda: [socket.socket() for _ in range(300)])
";
    let expected = "\
ConnectionRefusedError ECONNREFUSED
OSError EADDRINUSE
OSError ENOTCONN
TimeoutError None
BlockingIOError EAGAIN
OSError EBADF
broken
FileNotFoundError ENOENT
OSError EMFILE
";
    assert_eq!(output(&format!("{ECHO}{code}")).await, expected);
}

#[tokio::test]
async fn nobody_is_waited_for_who_can_not_come() {
    let code = "import socket\nsocket.create_server(('', 0)).accept()";
    let answer = run(code).await;
    assert_shows(&answer, json!({"status": "error", "stderr_class": "exception", "error": {"type": "OSError"}}));
    assert!(answer["stderr"].as_str().expect("text").contains("deadlock"), "{answer}");
}

#[tokio::test]
async fn datagrams_arrive_whole_and_in_order() {
    let code = "\
import socket
server = socket.socket(type=socket.SOCK_DGRAM)
server.bind(('127.0.0.1', 0))
client = socket.socket(type=socket.SOCK_DGRAM)
for data in (b'one', b'two', b''):
    client.sendto(data, server.getsockname())
print(server.recv(2), server.recvfrom(10)[1] == ('127.0.0.1', client.getsockname()[1]), server.recv(10))
";
    assert_eq!(output(code).await, "b'on' True b''\n");
}

#[tokio::test]
async fn selectors_see_connections_data_and_pipes() {
    let code = "\
import os, select, selectors, socket
server = socket.create_server(('127.0.0.1', 0))
reading, writing = os.pipe()
print(select.select([server, reading], [], [], 0))
client = socket.create_connection(server.getsockname())
print(select.select([server, reading], [client], [], 1) == ([server], [client], []))
connection, _ = server.accept()
with selectors.DefaultSelector() as selector:
    selector.register(connection, selectors.EVENT_READ, 'data')
    selector.register(reading, selectors.EVENT_READ, 'pipe')
    print(selector.select(0.01))
    client.send(b'x')
    os.write(writing, b'x')
    print(sorted(key.data for key, _ in selector.select(1)))
poll = select.poll()
poll.register(connection, select.POLLIN)
client.close()
print(connection.recv(1), poll.poll(1000) == [(connection.fileno(), select.POLLIN)], connection.recv(1))
";
    assert_eq!(output(code).await, "([], [], [])\nTrue\n[]\n['data', 'pipe']\nb'x' True b''\n");
}

#[tokio::test]
async fn http_servers_answer_urllib_and_requests() {
    let code = "\
import http.client, http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = self.path.encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments): pass
with http.server.ThreadingHTTPServer(('localhost', 0), Handler) as server:
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    url = f'http://localhost:{server.server_port}'
    print(urllib.request.urlopen(url + '/a').read())
    # Two connections that are kept, in turn.
    clients = [http.client.HTTPConnection('127.0.0.1', server.server_port) for _ in range(2)]
    for client in clients * 2:
        client.request('GET', '/b')
        print(client.getresponse().read())
    for client in clients:
        client.close()
    import requests
    print(requests.get(url + '/c').text)
    server.shutdown()
";
    assert_eq!(output(code).await, "b'/a'\nb'/b'\nb'/b'\nb'/b'\nb'/b'\n/c\n");
}

#[tokio::test]
async fn servers_of_the_library_work_in_threads() {
    let code = "\
import socket, socketserver, threading, xmlrpc.client, xmlrpc.server
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            self.wfile.write(line.upper())
with socketserver.ThreadingTCPServer(('127.0.0.1', 0), Handler) as server:
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    clients = [socket.create_connection(server.server_address) for _ in range(3)]
    for client in clients * 2:
        client.sendall(b'line\\n')
        print(client.recv(10))
    for client in clients:
        client.close()
    server.shutdown()
with xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False) as server:
    server.register_function(pow)
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    print(xmlrpc.client.ServerProxy(f'http://localhost:{server.server_address[1]}').pow(2, 10))
    server.shutdown()
";
    assert_eq!(output(code).await, format!("{}1024\n", "b'LINE\\n'\n".repeat(6)));
}

#[tokio::test]
async fn asyncio_serves_tasks_and_threads() {
    let code = "\
import asyncio, socket
async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()
async def ask(address):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b'task\\n')
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return line
def ask_blocking(address):
    with socket.create_connection(address) as client, client.makefile('rwb') as file:
        file.write(b'thread\\n')
        file.flush()
        return file.readline()
async def main():
    async with await asyncio.start_server(handle, '127.0.0.1', 0) as server:
        address = server.sockets[0].getsockname()
        print(await asyncio.gather(ask(address), ask(address), asyncio.to_thread(ask_blocking, address)))
asyncio.run(main())
";
    assert_eq!(output(code).await, "[b'TASK\\n', b'TASK\\n', b'THREAD\\n']\n");
}

#[tokio::test]
async fn a_connection_goes_on_in_later_calls_and_from_a_checkpoint() {
    let session = Session::open().await;
    session.call(ECHO).await;
    session.call("client = socket.create_connection(('127.0.0.1', port))\nclient.sendall(b'before')").await;
    let (status, made) = session.post("/checkpoints", json!({})).await;
    assert_eq!(status, 201, "{made}");
    let forked = Session::open_on(session.server, json!({"from_checkpoint": made["id"]})).await;
    for each in [&session, &forked] {
        assert_eq!(each.value("client.recv(10).decode()").await, "BEFORE");
        assert_eq!(each.value("client.sendall(b'after')\nclient.recv(10).decode()").await, "AFTER");
    }
}

#[tokio::test]
async fn tests_that_connect_to_the_candidate_are_graded_in_process() {
    let code = "\
import socket, threading
def serve(port):
    server = socket.create_server(('127.0.0.1', port))
    def work():
        connection, _ = server.accept()
        connection.sendall(connection.recv(10)[::-1])
        connection.close()
    threading.Thread(target=work, daemon=True).start()
def address():
    with socket.socket() as own:
        own.connect(('8.8.8.8', 53))
        return own.getsockname()[0]
";
    let grade = |body: &str, grading: &str| {
        let source = format!("import socket\nfrom unittest import mock\nimport solution\n\ndef test_it():\n{body}");
        let tests = json!({"kind": "pytest", "source": source});
        Server::shared().execute(json!({"code": code, "tests": tests, "grading": grading}))
    };
    let connecting = "    solution.serve(5000)\n    client = socket.socket()\n    client.connect(('127.0.0.1', 5000))\n    \
                      client.sendall(b'abc')\n    assert client.recv(10) == b'cba'\n";
    assert_shows(&grade(connecting, "isolated").await, json!({"status": "failed", "integrity": {"level": "isolated"}}));
    assert_shows(&grade(connecting, "auto").await, json!({"status": "passed", "integrity": {"level": "in_process"}}));
    let mocking = "    with mock.patch('solution.socket.socket') as made:\n        own = made.return_value.__enter__.return_value\n        \
                   own.getsockname.return_value = ('10.0.0.1', 1)\n        assert solution.address() == '10.0.0.1'\n        \
                   own.connect.assert_called_once_with(('8.8.8.8', 53))\n";
    assert_shows(&grade(mocking, "auto").await, json!({"status": "passed", "integrity": {"level": "isolated"}}));
}
