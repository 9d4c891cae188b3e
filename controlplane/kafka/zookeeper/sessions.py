"""Sessions with an ensemble by kazoo, and its exceptions turned into ours. Nothing else here knows kazoo's errors."""

import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NewConfigNoQuorumError,
    NoAuthError,
    OperationTimeoutError,
    ReconfigInProcessError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.zookeeper.errors import ZooKeeperRefused, ZooKeeperUnavailable
from events.spec.problems import shorten

_NOT_NOW = (
    ConnectionClosedError,
    ConnectionLoss,
    KazooTimeoutError,
    NewConfigNoQuorumError,
    OperationTimeoutError,
    ReconfigInProcessError,
    SessionExpiredError,
)
_MEANING = {
    NewConfigNoQuorumError: "a majority of the changed ensemble is not connected or has not caught up",
    ReconfigInProcessError: "another change of the ensemble is under way",
}
SESSION_S = 10.0
"""Of a lasting session: its locks are free so long after its holder was cut off."""
CONNECT_S = 4.0
_CALL_SESSION_S = 6.0
"""Of a session for one call; kazoo gives up on a silent server after two thirds of it."""


ShownTo: TypeAlias = Callable[[], ssl.SSLContext | None]
"""Who this server is to the ensemble, asked for at each connection: None where it speaks plaintext. Raises
KafkaUnavailable where nobody signs for it yet."""


def plaintext() -> ssl.SSLContext | None:
    """An ensemble that asks for no certificate."""
    return None


class _OverTls(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's own TLS reads keys from files, which this server's is not in, and looks at no address."""

    def __init__(self, tls: ShownTo) -> None:
        super().__init__()
        self._tls = tls

    def create_connection(self, address: tuple[str, int], timeout: float | None = None, **_: Any) -> socket.socket:
        """Raises OSError, which is all that kazoo takes for a server that is not there."""
        plain = super().create_connection(address, timeout=timeout)
        try:
            context = self._tls()
            return context.wrap_socket(plain, server_hostname=address[0]) if context is not None else plain
        except KafkaFault as fault:
            plain.close()
            raise ConnectionError(fault.why) from fault
        except BaseException:
            plain.close()
            raise


def new_client(
    endpoints: Sequence[str], password: str, *, session_s: float = SESSION_S, tls: ShownTo = plaintext
) -> KazooClient:
    """Not started yet. With a `password` it is ZooKeeper's super user; without one it may only do what all may. Raises
    what `tls` does."""
    log = logging.getLogger("kazoo")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)  # it warns of every server that goes away, which is our daily business
    auth = [("digest", f"super:{password}")] if password else []
    handler = _OverTls(tls) if tls() is not None else None
    return KazooClient(",".join(endpoints), timeout=session_s, auth_data=auth, logger=log, handler=handler)


@contextlib.contextmanager
def session(
    endpoints: Sequence[str],
    password: str,
    *,
    what: str,
    where: str,
    connect_s: float = CONNECT_S,
    tls: ShownTo = plaintext,
) -> Iterator[KazooClient]:
    """A session for the length of the block. Raises our faults for whatever kazoo raises, in the block too."""
    if not endpoints:
        raise ZooKeeperUnavailable(what=what, where=where, why="no address of a ZooKeeper server is known")
    with faults(what=what, where=where):
        client = new_client(endpoints, password, session_s=_CALL_SESSION_S, tls=tls)
    try:
        with faults(what=what, where=where):
            client.start(timeout=connect_s)
            yield client
    finally:
        client.stop()
        client.close()


Sessions: TypeAlias = Callable[[str], AbstractContextManager[KazooClient]]
"""Makes a session for the length of a block; the text says what for."""


class UnreadableNode(Exception):
    """A node holds what those whose it is do not write there: nothing is read off it, and nothing is guessed."""


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Raises UnreadableNode for what goes wrong in reading the content of that node: it is others' bytes."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{path} holds what Kafka does not write there ({type(error).__name__}: {error})"
        raise UnreadableNode(shorten(why, 300)) from error


@contextlib.contextmanager
def faults(*, what: str, where: str) -> Iterator[None]:
    """Turns kazoo's exceptions into ZooKeeperUnavailable (later) or ZooKeeperRefused (never so)."""
    try:
        yield
    except UnreadableNode as error:
        raise ZooKeeperUnavailable(what=what, where=where, why=str(error)) from error
    except KafkaFault as fault:
        raise ZooKeeperUnavailable(what=what, where=where, why=fault.why, next_step=fault.next_step) from fault
    except _NOT_NOW as error:
        why = next((words for kind, words in _MEANING.items() if isinstance(error, kind)), _words(error))
        raise ZooKeeperUnavailable(what=what, where=where, why=why) from error
    except (NoAuthError, AuthFailedError) as error:
        raise ZooKeeperRefused(
            what=what,
            where=where,
            why="the servers do not take Kedge for their super user",
            next_step="They were started with another digest than this server's key gives: start them anew.",
        ) from error
    except KazooException as error:
        raise ZooKeeperRefused(what=what, where=where, why=_words(error)) from error


def _words(error: BaseException) -> str:
    return f"{type(error).__name__} {error}".strip()
