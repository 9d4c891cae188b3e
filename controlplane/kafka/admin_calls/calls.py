"""One call to the brokers of a cluster: the connection, its time, and who takes what only a controller takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from controlplane.kafka.deadline import CALL_LIMIT_S, Deadline
from controlplane.kafka.dialer import Connection, Dialer
from controlplane.kafka.errors import KafkaRefused, require_ok
from controlplane.kafka.zookeeper_mode import LookUp, current_controller, read_mode
from planner.observed import Mode

CONTROLLER_LISTENER, TLS_CONTROLLER_LISTENER = "CONTROLLER", "CONTROLPLANE"

_NO_OTHERS: Mapping[str, int] = MappingProxyType({})


def utc_now() -> datetime:
    return datetime.now(UTC)


class AdminCalls:
    """One cluster, reached through `dialer`. See `KafkaGateway` for what each call promises."""

    def __init__(
        self,
        dialer: Dialer,
        cluster: str,
        bootstrap: Callable[[], Sequence[str]] | Sequence[str],
        *,
        now: Callable[[], datetime] = utc_now,
        limit_s: float = CALL_LIMIT_S,
        mode: Mode | None = None,
        look_up: LookUp | None = None,
        quorum_listener: str = CONTROLLER_LISTENER,
        more_quorum_listeners: Mapping[str, int] = _NO_OTHERS,
    ) -> None:
        """`cluster` keys the connection (its uid). `bootstrap` (`host:port`) is read at every new
        connection. `mode` None: asked for once. `look_up`: ZooKeeper's own word in that mode.
        `quorum_listener`: by which controllers listen for one another; `more_quorum_listeners` with their ports."""
        self._dialer = dialer
        self._cluster = cluster
        self._bootstrap = bootstrap if callable(bootstrap) else lambda: bootstrap
        self._now = now
        self._limit_s = min(limit_s, CALL_LIMIT_S)
        self._mode = mode
        self._look_up = look_up
        self._quorum_listener = quorum_listener
        self._more_quorum_listeners = more_quorum_listeners

    def close(self) -> None:
        self._dialer.hang_up(self._cluster)

    @contextmanager
    def _call(self) -> Iterator[tuple[Connection, Deadline]]:
        deadline = Deadline.after(self._limit_s)
        with self._dialer.dial(self._cluster, list(self._bootstrap()), deadline) as connection:
            yield connection, deadline

    def _change(self, request: Any, what: str, *, already: int) -> bool:
        """Send a change of one thing; False when the answer is the code that says it was so already."""
        with self._call() as (connection, deadline):
            self._require_kraft(connection, what, "it has no quorum of controllers", deadline)
            answer = connection.ask(request, what=what, deadline=deadline)
            if answer.error_code == already:
                return False
            self._check(answer, what)
            return True

    def _mode_of(self, connection: Connection, deadline: Deadline) -> Mode:
        if self._mode is None:
            self._mode = read_mode(connection, deadline)
        return self._mode

    def _controller(self, connection: Connection, deadline: Deadline) -> int | None:
        """Whom to send what only a controller takes. KRaft brokers pass it on, so any does (None)."""
        if self._mode_of(connection, deadline) == "kraft":
            return None
        return current_controller(connection, self._look_up, deadline).broker

    def _require_kraft(self, connection: Connection, what: str, why: str, deadline: Deadline) -> None:
        if self._mode_of(connection, deadline) == "zookeeper":
            words = f"this cluster is in ZooKeeper mode: {why}"
            raise KafkaRefused(what=what, where=self._cluster, words=words, error="UnsupportedVersion")

    def _check(self, answer: Any, what: str) -> None:
        require_ok(answer, what=what, where=self._cluster)
