"""An end for one HTTP call as a whole. `httpx` bounds each read alone: who sends a byte now and then, of the head too,
would be listened to for ever."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import Any


class CallEnd:
    """Shuts the connection of a call down once its time is over, whatever the call is at. Give `trace` to the request
    as an extension of that name; leave the block as soon as the call is over. A handshake is bounded as a read is."""

    def __init__(self, within_s: float) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_over = False
        self._timer = threading.Timer(within_s, self._end)
        self._timer.daemon = True

    def __enter__(self) -> "CallEnd":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    @property
    def is_over(self) -> bool:
        """Whether its time was over before the block was left."""
        return self._is_over

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """What `httpcore` tells of a request: of each connection, and of each that has become one of TLS."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._is_over:
                    self._shut()

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # not that of TLS, which is the reader's
