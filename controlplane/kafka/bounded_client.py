"""The library's connections with an end to their beginning: pinned to kafka-python 3.0.12.

Its own bootstrap waits for a connection without a limit, and a TLS handshake has none either: a port that is open and
says nothing (a frozen broker, something that is no broker) would hold its caller for ever. It also keeps to itself why
brokers refuse who asks.
"""

import time
from collections.abc import Sequence
from typing import Any

from kafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport

_GRACE_MS = 500
"""For what the library knows when its own time is over, which says more than ours."""


_REFUSALS = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError, IllegalSaslStateError)


class _WholeAnswers(KafkaSSLTransport):  # type: ignore[misc]  # the library has no types
    """Gives on what came before the end of a connection. The library drops it where both are read at once, and Kafka
    hangs up with the answer that says why a password is refused."""

    _ended: Exception | None = None

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        if self._ended is not None:
            return b"", self._ended
        data, self._ended = super()._sock_recv()
        return data, None if data else self._ended


class BoundedManager(KafkaConnectionManager):  # type: ignore[misc]  # the library has no types
    """Bootstraps within the time it is given, and ends at once where a broker refuses who asks."""

    is_let_in = False
    """Whether a connection was ever ready for requests."""

    def bootstrap(self, timeout_ms: int | None = None, refresh: bool = True) -> None:
        """As the library's. Raises KafkaTimeoutError after `timeout_ms` whatever a connection still waits for."""

        async def bounded() -> None:
            limit_ms = None if timeout_ms is None else timeout_ms + _GRACE_MS
            await self.wait_for(self.bootstrap_async(timeout_ms, refresh), limit_ms)

        self._net.run(bounded)

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> Any:
        if not self.ssl_enabled:
            return await super()._build_transport(node, timeout_at=timeout_at)
        sock = await create_connection(
            self._net,
            node.host,
            node.port,
            self.config["socket_options"],
            proxy_url=self.config["proxy_url"],
            timeout_at=timeout_at,
        )
        transport = _WholeAnswers(self._net, sock, host=node.host, ssl_context=self.config["ssl_context"])
        left_ms = None if timeout_at is None else max(1.0, (timeout_at - time.monotonic()) * 1000)
        try:
            await self.wait_for(self.call_soon(transport.handshake), left_ms)
        except Exception as error:
            transport.close()
            raise KafkaConnectionError(f"Handshake failed: {error}") from error
        return transport

    async def _connect(self, node: Any, conn: Any, **how: Any) -> None:
        await super()._connect(node, conn, **how)
        self.is_let_in |= conn.init_future.succeeded()
        if conn.init_future.failed() and isinstance(conn.init_future.exception, _REFUSALS):
            # The library means to do the same, and overlooks that its `initialize` raises nothing.
            self._auth_failures[node.node_id] = conn.init_future.exception


def bounded_client(**config: Any) -> KafkaNetClient:
    """What the library makes by itself of the same configuration, but for its manager."""
    net = NetworkSelector(**config)
    return KafkaNetClient(net, BoundedManager(net, **config), **config)


def refusal(error: Exception, opened: Sequence[KafkaNetClient], *, is_theirs: bool) -> str:
    """What brokers said to who asked, in words; "" where that is not why nobody could be asked. `is_theirs`: others
    made them, so what they ask for is a guess of who wrote the properties."""
    if isinstance(error, SaslAuthenticationFailedError):
        return f"the broker does not let Kedge in: its user name or password is wrong ({error})"
    if isinstance(error, UnsupportedSaslMechanismError):
        return f"the broker does not take this way of signing in (sasl.mechanism): {error}"
    if isinstance(error, IllegalSaslStateError):
        return "the broker asks for no user name and password at this port: it is no SASL_SSL listener"
    silent = [c for c in opened if c._manager.is_let_in and c._manager.config["security_protocol"] == "SSL"]
    if is_theirs and silent:
        return "the broker ends the connection at the first request: it asks for a user name and password (SASL)"
    return ""
