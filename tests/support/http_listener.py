"""An HTTP server on the loopback interface that records requests."""

import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Listener:
    """The recorded requests and the server's address."""

    def __init__(self, port):
        self.port = port
        self.got = []
        self.hosts = []
        self.status, self.headers, self.body, self.wait_s = 200, {}, b"ok", 0.0

    def url(self, scheme="http", path="/hook/secret-path", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}{path}"


@contextmanager
def listening():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["content-length"])
            here.got.append((self.path, json.loads(self.rfile.read(size))))
            here.hosts.append(self.headers["host"])
            time.sleep(here.wait_s)
            self.send_response(here.status)
            for name, value in here.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(here.body)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here = Listener(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield here
    server.shutdown()
    thread.join()
    server.server_close()
