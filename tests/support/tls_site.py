"""A site on this machine's loopback with TLS by an authority of its own: files, as it is told."""

import http.server
import ssl
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import anyio


def make_certificates(folder, *names):
    """The authority's file, and the server's certificate for these names."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, file = folder / "authority.pem", folder / "site.pem"
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    alternatives = ",".join(f"DNS:{name}" for name in names)
    made = [
        ("-subj", "/CN=test authority", "-keyout", folder / "a.key", "-out", authority,
         "-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        ("-subj", "/CN=test site", "-keyout", folder / "s.key", "-out", file, "-CA", authority,
         "-CAkey", folder / "a.key", "-addext", f"subjectAltName={alternatives}",
         "-addext", "basicConstraints=CA:FALSE"),
    ]  # fmt: skip
    for words in made:
        command = ["openssl", "req", "-x509", *key, *map(str, words)]
        subprocess.run(command, check=True, capture_output=True)
    return authority, file, folder / "s.key"


@contextmanager
def tls_site(folder, root, *names):
    """Serves the files below `root`. `connect` leads every place to it, without asking for names."""
    authority, file, key = make_certificates(Path(folder), *names)
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=root)

        def do_GET(self):
            asked.append(f"{self.headers.get('host')}{self.path}")
            super().do_GET()

        def guess_type(self, path):
            return "application/json" if path.endswith(".json") else super().guess_type(path)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file, key)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    async def connect(place):
        return await anyio.connect_tcp("127.0.0.1", server.server_port)

    try:
        yield SimpleNamespace(
            asked=asked, authority=authority, connect=connect, port=server.server_port
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
