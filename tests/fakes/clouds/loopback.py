"""HTTP on a loopback port, for every fake that answers a cloud's calls."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.clouds.faults import Dropped

Answer = tuple[int, dict[str, str], bytes]
"""(status, headers, body)"""

Answering = Callable[[str, str, dict[str, str], bytes], Answer]
"""(method, path with its query, headers, body) -> what to answer"""

_SEES_ITS_END_WITHIN_S = 0.005
"""Every test of a cloud waits for that."""

_OF_THE_SERVER = ("content-length", "connection", "date", "server")


@contextmanager
def serving(answer: Answering) -> Iterator[int]:
    """Whoever answers a cloud's calls, on a loopback port of its own: that port."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        """Head and body in one packet: in two, the second waits for the first to be acknowledged, 40 ms each time."""

        def do_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                status, headers, told = answer(self.command, self.path, dict(self.headers.items()), body)
            except Dropped as dropped:
                over.wait(dropped.held_s)
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OF_THE_SERVER:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any  # noqa: N815  # names of http.server

        def log_message(self, *_: object) -> None:
            """Quiet: a test that fails shows what was asked by `calls`."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(_SEES_ITS_END_WITHIN_S,), name="cloud", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet about callers that were killed; anything else is told as ever."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
