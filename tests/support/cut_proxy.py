"""A way to a server through which a test can cut the network, or lose a single answer."""

import select
import socket
import threading
from contextlib import suppress


class CutProxy:
    """Passes connections of loopback on to a port, in a thread, until it is closed."""

    def __init__(self, port):
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._pairs = []
        self._is_cut = threading.Event()
        self._lost_after = None
        self._then_cut = self._loses_request = False
        self._closing = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self):
        """From now on nothing arrives, and nobody is told: as if a cable were pulled."""
        self._is_cut.set()

    def mend(self):
        """The network works again; connections from before are lost."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _close(end)
        self._is_cut.clear()

    def lose_answer_to(self, words, *, then_cut=False):
        """Pass the next request that has these words, but close before its answer."""
        self._lost_after, self._then_cut, self._loses_request = words, then_cut, False

    def lose_request(self, words):
        """Close at the next request that has these words, then cut the network."""
        self._lost_after, self._then_cut, self._loses_request = words, True, True

    def close(self):
        self._closing = True
        _close(self._listening)
        self.mend()
        for thread in self._threads:
            thread.join(5)

    def _accept(self):
        while not self._closing:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                continue
            pair = (client, server)
            self._pairs.append(pair)
            thread = threading.Thread(target=self._pass_on, args=pair, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client, server):
        is_lost = False
        with suppress(OSError, ValueError):
            while not self._closing:
                for end in select.select([client, server], [], [], 0.05)[0]:
                    data = end.recv(65536)
                    if not data or (is_lost and end is server):
                        if is_lost and self._then_cut:
                            self._is_cut.set()
                        return _close(client), _close(server)
                    if self._is_cut.is_set():
                        continue
                    if end is client and self._lost_after and self._lost_after in data:
                        self._lost_after, is_lost = None, True
                        if self._loses_request:
                            self._is_cut.set()
                            return _close(client), _close(server)
                    (server if end is client else client).sendall(data)
        return None


def _close(end):
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
