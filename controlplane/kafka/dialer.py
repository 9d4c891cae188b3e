"""The one door to brokers. Direct sockets now; another Dialer may go through the agents' streams later."""

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from kafka import KafkaAdminClient
from kafka.errors import IncompatibleBrokerVersion, KafkaError
from kafka.net.compat import KafkaNetClient

from controlplane.kafka.bounded_client import bounded_client, refusal
from controlplane.kafka.client_access import Sasl
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.egress import BrokerDoors, JudgedAddress
from controlplane.kafka.errors import ASKED, KafkaRefused, KafkaUnavailable
from controlplane.kafka.tls import BrokerTls, handshake_problem
from controlplane.runtime.egress import EgressRefused

_ATTEMPT_S = 4.0
"""One attempt of a read at one broker; a second broker gets a chance within the call's 10 s."""
_PAUSE_S = 0.1


class Connection(Protocol):
    """A way to send protocol messages to the brokers of one cluster."""

    @property
    def name(self) -> str:
        """The cluster, for messages."""

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        """Re-read the addresses of the live brokers; returns their ids. Raises KafkaUnavailable."""

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        """Send a message and return the decoded response.

        Without `node` any broker does, and another one is tried until the deadline; a named one is tried
        once. Raises KafkaUnavailable when nobody answers, KafkaRefused when no broker knows the message.
        """

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        """Send to several nodes at once. Nodes that did not answer within `timeout_s` are missing from the
        result."""

    def close(self) -> None:
        """Drop the sockets."""


class Dialer(Protocol):
    """Opens and keeps connections, one per cluster."""

    def dial(self, cluster: str, bootstrap: Sequence[str], deadline: Deadline) -> AbstractContextManager[Connection]:
        """The cluster's connection, for one caller at a time. It is dropped when the block ends with
        KafkaUnavailable, so the next call starts from `bootstrap` again."""

    def hang_up(self, cluster: str) -> None:
        """Close the cluster's connection, if any."""

    def close(self) -> None:
        """Close all connections."""


Connect = Callable[[str, Sequence[str], Deadline], Connection]
"""(cluster, bootstrap addresses, deadline) -> connection. Raises KafkaUnavailable."""


class DirectDialer:
    """Plain sockets from this process."""

    def __init__(
        self,
        connect: Connect | None = None,
        *,
        keep: int = 64,
        doors: BrokerDoors | None = None,
        tls: BrokerTls | None = None,
    ) -> None:
        """`connect` opens a connection; tests give their own. Each costs a thread and some sockets, so at most `keep`
        are kept, the latest used ones. `doors` judges where brokers are dialled, None where a person at this machine
        names them. `tls` says which clusters speak it, and what they are shown."""
        self._connect = connect or partial(AdminConnection, doors=doors, tls=tls)
        self._keep = keep
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._connections: OrderedDict[str, Connection] = OrderedDict()
        log = logging.getLogger("kafka")
        if log.level == logging.NOTSET:
            # the library logs an error for every broker that goes away, which is our daily business
            log.setLevel(logging.CRITICAL)

    @contextlib.contextmanager
    def dial(self, cluster: str, bootstrap: Sequence[str], deadline: Deadline) -> Iterator[Connection]:
        lock = self._lock_of(cluster)
        if not lock.acquire(timeout=deadline.left_s):
            raise KafkaUnavailable(
                what="dialling", where=cluster, why="another call to the same cluster did not end in time"
            )
        try:
            connection = self._connections.get(cluster) or self._connect(cluster, bootstrap, deadline)
            self._remember(cluster, connection)
            try:
                yield connection
            except KafkaRefused:
                raise  # the connection is fine, the request was not
            except BaseException:
                self._forget(cluster)
                raise
        finally:
            lock.release()
        self._trim()

    def hang_up(self, cluster: str) -> None:
        with self._lock_of(cluster):
            self._forget(cluster)

    def close(self) -> None:
        for cluster in list(self._locks):
            self.hang_up(cluster)

    def _lock_of(self, cluster: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(cluster, threading.Lock())

    def _remember(self, cluster: str, connection: Connection) -> None:
        with self._guard:
            self._connections[cluster] = connection
            self._connections.move_to_end(cluster)

    def _forget(self, cluster: str) -> None:
        """Close a connection. The caller holds the cluster's lock."""
        with self._guard:
            connection = self._connections.pop(cluster, None)
        if connection is not None:
            connection.close()

    def _trim(self) -> None:
        """Close the connections used longest ago, but for those in use now."""
        with self._guard:
            spare = list(self._connections)[: max(0, len(self._connections) - self._keep)]
        for cluster in spare:
            lock = self._lock_of(cluster)
            if lock.acquire(blocking=False):
                try:
                    self._forget(cluster)
                finally:
                    lock.release()


def _judged(doors: BrokerDoors, cluster: str, host: str, port: int) -> tuple[str, ...]:
    try:
        return doors.addresses(cluster, host, port)
    except EgressRefused as refused:
        raise OSError(str(refused)) from refused


def _resolved(host: str, port: int) -> tuple[str, ...]:
    return tuple(str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))


def _security(context: ssl.SSLContext | None, sasl: Sasl | None) -> dict[str, str]:
    if sasl is None:
        return {"security_protocol": "PLAINTEXT" if context is None else "SSL"}
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": sasl.mechanism,
        "sasl_plain_username": sasl.username,
        "sasl_plain_password": sasl.password.get_secret_value(),
    }


class AdminConnection:
    """kafka-python's admin client, used for its sockets, node table and message codecs only.

    Its private `_manager` is what sends arbitrary messages with a timeout of our own: pinned to 3.0.12.
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[str],
        deadline: Deadline,
        *,
        doors: BrokerDoors | None = None,
        tls: BrokerTls | None = None,
    ) -> None:
        self._name = name
        if not bootstrap:
            raise KafkaUnavailable(what="dialling", where=name, why="no broker address is known")
        context, sasl = (tls.context(name), tls.sasl(name)) if tls is not None else (None, None)
        opened: list[KafkaNetClient] = []
        self._judged = JudgedAddress(doors, name) if doors is not None else None

        def open_sockets(**config: Any) -> KafkaNetClient:
            opened.append(bounded_client(**config))
            return opened[0]

        try:
            self._client = KafkaAdminClient(
                bootstrap_servers=list(bootstrap),
                client_id="kedge",
                bootstrap_timeout_ms=int(deadline.capped(6.0) * 1000),
                request_timeout_ms=int(_ATTEMPT_S * 1000),
                reconnect_backoff_max_ms=1000,
                kafka_client=open_sockets,
                proxy_url=self._judged.url if self._judged is not None else None,
                ssl_context=context,
                **_security(context, sasl),
            )
        except (KafkaError, OSError) as e:
            # the client's constructor leaves its thread running when it finds nobody
            for client in opened:
                client.close()
                client._manager._net.stop()
            self._forget_rules()
            addresses = partial(_judged, doors, name) if doors is not None else _resolved
            step = tls.next_step(name) if tls is not None else ""
            told = refusal(e, opened, is_theirs=bool(step)) or handshake_problem(bootstrap, context, addresses)
            why = told or f"none of {', '.join(bootstrap)} answered ({e})"
            raise KafkaUnavailable(what="dialling", where=name, why=why, next_step=step) from e

    @property
    def name(self) -> str:
        return self._name

    def refresh_nodes(self, deadline: Deadline) -> frozenset[int]:
        manager = self._client._manager

        async def refresh() -> frozenset[int]:
            millis = max(1, int(deadline.capped(_ATTEMPT_S) * 1000))
            await manager.wait_for(manager.call_soon(manager.cluster.refresh_metadata), millis)
            return frozenset(int(b.node_id) for b in manager.cluster.brokers())

        result: frozenset[int] = self._try_until(refresh, "reading the broker list", deadline)
        return result

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        ASKED.set(type(request).__name__.removesuffix("Request"))

        async def send() -> Any:
            return await self._send(request, node, deadline.capped(_ATTEMPT_S))

        if node is None:
            return self._try_until(send, what, deadline)
        return self._try_once(send, what, f"{self._name}, broker {node}")

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> Mapping[int, Any]:
        for request in requests.values():
            ASKED.set(type(request).__name__.removesuffix("Request"))

        async def send_all() -> dict[int, Any]:
            manager = self._client._manager
            pending = {n: manager.call_soon(self._send, r, n, timeout_s) for n, r in requests.items()}
            answers = {}
            for node, future in pending.items():
                with contextlib.suppress(KafkaError, OSError):
                    answers[node] = await future
            return answers

        result: dict[int, Any] = self._client._manager.run(send_all)
        return result

    def close(self) -> None:
        self._client.close()
        self._forget_rules()

    def _forget_rules(self) -> None:
        if self._judged is not None:
            self._judged.close()

    async def _send(self, request: Any, node: int | None, timeout_s: float) -> Any:
        manager = self._client._manager
        millis = max(1, int(timeout_s * 1000))
        # wait_for as well: the request's own timeout does not run while its connection is still being made
        return await manager.wait_for(manager.send(request, node_id=node, request_timeout_ms=millis), millis)

    def _try_until(self, send: Callable[[], Awaitable[Any]], what: str, deadline: Deadline) -> Any:
        """Repeat at whichever broker the client picks next until one answers or the deadline is over."""
        while True:
            try:
                return self._try_once(send, what, self._name)
            except KafkaUnavailable:
                if deadline.left_s <= _PAUSE_S:
                    raise
                time.sleep(_PAUSE_S)

    def _try_once(self, send: Callable[[], Awaitable[Any]], what: str, where: str) -> Any:
        try:
            return self._client._manager.run(send)
        except IncompatibleBrokerVersion as e:
            raise KafkaRefused(what=what, where=where, words=str(e), error="UnsupportedVersion") from e
        except (KafkaError, OSError, RuntimeError) as e:  # RuntimeError: the client's own thread has ended
            raise KafkaUnavailable(what=what, where=where, why=str(e)) from e
