"""How this agent calls brokers of its own cluster that speak TLS: by its node's certificate, which is on this VM."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from agent.layout import AgentLayout
from agent.services.tls_properties import CLUSTER_CA, NODE_PEM
from agent.wire import Document


class _MaySecure(Protocol):
    @property
    def secured(self) -> bool: ...


Task = TypeVar("Task", bound=_MaySecure)


@dataclass(frozen=True, slots=True)
class NodeTls:
    """Where the certificate is, and since when (nanoseconds of the file's clock). librdkafka reads it when a client is
    made: another certificate asks for another client."""

    folder: Path
    since_ns: int

    @property
    def properties(self) -> Mapping[str, str]:
        """librdkafka's."""
        node = str(self.folder / NODE_PEM)
        return {
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.folder / CLUSTER_CA),
            "ssl.certificate.location": node,
            "ssl.key.location": node,
        }


@dataclass(frozen=True, slots=True)
class BrokerTask(Generic[Task]):
    """What is to be done at brokers, and by what they know this VM; None in plaintext."""

    what: Task
    tls: NodeTls | None = None

    @property
    def properties(self) -> Mapping[str, str]:
        """librdkafka's, of TLS."""
        return self.tls.properties if self.tls is not None else {}


def at_brokers(what: Task | None, tls: NodeTls | None) -> BrokerTask[Task] | None:
    """None where there is nothing to do, or the certificate it is to be done with is not there yet."""
    if what is None or (what.secured and tls is None):
        return None
    return BrokerTask(what, tls if what.secured else None)


def node_tls(document: Document | None, layout: AgentLayout) -> NodeTls | None:
    """That of the document's first service that speaks TLS; None while no certificate is there."""
    for service in document.services if document is not None else ():
        folder = layout.tls_dir(service.name)
        if service.tls is None:
            continue
        try:
            return NodeTls(folder, (folder / NODE_PEM).stat().st_mtime_ns)
        except OSError:
            return None
    return None


def speaks_tls(document: Document | None) -> bool:
    """Whether a service of the document speaks TLS."""
    return document is not None and any(service.tls is not None for service in document.services)
