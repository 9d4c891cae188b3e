"""Clusters of others that speak TLS: the name their spec has for Kedge's client properties, and the file it stands for.

    spec.external.clientProperties: orders  ->  [kafka.client_properties] orders = "/etc/kedge/orders.properties"

The file is read at each new connection, so what was rotated there counts from the next one on.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane.cluster.external_brokers import declared_external
from controlplane.cluster.view import ClusterView
from controlplane.kafka.client_access import ClientAccess, ClientPropertiesUnusable, read_access
from controlplane.kafka.errors import KafkaUnavailable

_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class _Named:
    cluster: str
    name: str
    stamp: _Stamp


class ClientFiles:
    """Thread-safe. `files`: by the names that specs use for them."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = dict(files)
        self._lock = threading.Lock()
        self._named: dict[str, _Named] = {}

    def know(self, view: ClusterView) -> bool:
        """By which properties its brokers are spoken to now. True where that has changed since the last time, the
        file's own content too: connections that stand were made by what was before."""
        external = declared_external(view)
        name = external.client_properties if external is not None else None
        named = _Named(view.name, name, self._stamp(name)) if name is not None else None
        with self._lock:
            before = self._named.pop(view.uid, None)
            if named is not None:
                self._named[view.uid] = named
        return before is not None and before != named

    def access(self, cluster: str) -> ClientAccess | None:
        """Read now; None for a cluster that has none. Raises KafkaUnavailable, with what to do."""
        with self._lock:
            named = self._named.get(cluster)
        if named is None:
            return None
        file = self._files.get(named.name)
        if file is None:
            raise KafkaUnavailable(
                what="reading client properties",
                where=named.cluster,
                why=f"this server's settings have no client properties called `{named.name}`",
                next_step=f"Add `{named.name}` to [kafka.client_properties] and start the server anew.",
            )
        try:
            return read_access(file)
        except ClientPropertiesUnusable as unusable:
            raise KafkaUnavailable(
                what="reading client properties",
                where=named.cluster,
                why=f"client properties `{named.name}`: {unusable}",
                next_step=f"Put that right on the server's machine; {_READ_AGAIN}.",
            ) from unusable

    def next_step(self, cluster: str) -> str:
        """What a person does where brokers refuse what the file says, "" for a cluster that has none."""
        with self._lock:
            named = self._named.get(cluster)
        return f"Correct client properties `{named.name}` on the server's machine; {_READ_AGAIN}." if named else ""

    def _stamp(self, name: str) -> _Stamp:
        file = self._files.get(name)
        try:
            stat = os.stat(file) if file is not None else None
        except OSError:
            return None
        return (stat.st_mtime_ns, stat.st_size, stat.st_ino) if stat is not None else None


_READ_AGAIN = "they are read again at the next connection"
