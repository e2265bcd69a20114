"""A bad way between two ports of this machine: it drops, swaps and delays datagrams, and carries TCP as it is."""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import threading
import time

HOST = "127.0.0.1"


class Relay:
    """From a port to the server's, in a thread of its own, for as long as the context lasts."""

    def __init__(self, port: int, server: int):
        self.server = server
        self.random = random.Random(4)  # noqa: S311 - the same fate for every run
        self.selector = selectors.DefaultSelector()
        self.open = contextlib.ExitStack()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.ways = {}
        self.held = {}
        self.udp = self._socket(socket.SOCK_DGRAM, port)
        self.tcp = self._socket(socket.SOCK_STREAM, port)
        self.tcp.listen()
        self._watch(self.udp, self._forth)
        self._watch(self.tcp, self._accept)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.open.close()

    def _socket(self, kind, port=0):
        made = self.open.enter_context(socket.socket(socket.AF_INET, kind))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        return made

    def _watch(self, readable, call):
        self.selector.register(readable, selectors.EVENT_READ, call)

    def _run(self):
        while not self.done.is_set():
            ready = [(key.fileobj, key.data) for key, _ in self.selector.select(timeout=0.05)]
            # Datagrams first: the word that the test is over must not overtake them.
            for readable, call in sorted(ready, key=lambda one: one[0].type != socket.SOCK_DGRAM):
                # An answer that was ready may be gone: sending on a socket takes the refusal that stood there.
                with contextlib.suppress(BlockingIOError):
                    call(readable)

    def _forth(self, udp):
        data, client = udp.recvfrom(65536)
        if client not in self.ways:
            self.ways[client] = self._socket(socket.SOCK_DGRAM)
            self.ways[client].setblocking(False)
            self.ways[client].connect((HOST, self.server))
            self._watch(self.ways[client], lambda way: self._back(way, client, data))
        way, fate = self.ways[client], self.random.random()
        # iperf3's greeting is not sent again if it is lost, and the last of iperf 2, its number negated, is.
        if len(data) > 4 and data[0] < 0x80:
            if fate < 0.1:
                return
            if fate < 0.2 and client not in self.held:
                self.held[client] = data
                return
            time.sleep(0.02 * max(0.0, self.random.random() - 0.5))
        with contextlib.suppress(ConnectionRefusedError):  # told by an earlier datagram, see _back
            way.send(data)
            if client in self.held:
                way.send(self.held.pop(client))

    def _back(self, way, client, greeting):
        try:
            self.udp.sendto(way.recv(65536), client)
        except (
            ConnectionRefusedError
        ):  # iperf3's server has not bound its port again, and nobody else sends anew
            time.sleep(0.02)
            way.send(greeting)

    def _accept(self, tcp):
        near = self.open.enter_context(tcp.accept()[0])
        far = self.open.enter_context(self._connected())
        self._watch(near, lambda _: self._copy(near, far))
        self._watch(far, lambda _: self._copy(far, near))

    def _connected(self):
        late = time.monotonic() + 10
        while True:
            try:
                return socket.create_connection((HOST, self.server))
            except ConnectionRefusedError:  # the server is still starting
                if time.monotonic() > late:
                    raise
                time.sleep(0.02)

    def _copy(self, source, sink):
        data = source.recv(65536)
        time.sleep(0.05)  # the server takes the datagrams that came before
        if data:
            sink.sendall(data)
        else:
            self.selector.unregister(source)
            sink.shutdown(socket.SHUT_WR)
