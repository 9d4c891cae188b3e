"""A TCP proxy that loses replies: what is sent reaches the server, the answer never comes back, the line is cut."""

import contextlib
import socket
import threading


class CuttingProxy:
    """Listens on a loopback port of its own in front of `target`. `cut_next_reply(marker)` arms it once."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._marker: bytes | None = None
        self._sockets: list[socket.socket] = []
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def cut_next_reply(self, marker: bytes) -> None:
        """Cuts the line instead of passing on the reply to the next request that contains `marker`."""
        self._marker = marker

    def close(self) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                armed = threading.Event()
                threading.Thread(target=self._requests, args=(client, server, armed), daemon=True).start()
                threading.Thread(target=self._replies, args=(client, server, armed), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, armed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self._marker is not None and self._marker in data:
                    self._marker = None
                    armed.set()
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _replies(self, client: socket.socket, server: socket.socket, armed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if armed.is_set():
                    self.cuts += 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
