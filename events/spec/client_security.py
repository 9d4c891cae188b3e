"""What a node that speaks TLS is started with for the sake of clients: where it listens for them, and who may do
everything. Beside what nodes are to one another, which no spec changes."""

from dataclasses import dataclass
from typing import Literal

from events.spec.model import KafkaClusterDocument
from events.spec.security import Listener

NodeNames = Literal["subject", "both", "marked"]
"""By what a process knows nodes and Kedge's server: by the subject of their certificate, by that and by the name that
no token can have, or by that one alone."""


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """Of one process. Controllers have no listener for clients, and check what brokers pass on to them of those."""

    listeners: tuple[Listener, ...] = ()
    super_users: tuple[str, ...] = ()
    """Names of users."""
    anonymous: bool = False
    """Who is not asked may do everything."""
    names: NodeNames = "subject"

    @property
    def takes_tokens(self) -> bool:
        """Whether a listener asks for tokens."""
        return any(one.authentication.type == "oauth" for one in self.listeners)

    def gives_more_than(self, before: "ClientSecurity") -> bool:
        """Whether anybody may do more with it."""
        return (self.anonymous and not before.anonymous) or not set(self.super_users) <= set(before.super_users)

    def words(self, before: "ClientSecurity") -> str:
        """What is another than before, as in `listener SCRAM added; ANONYMOUS no super user`; "" where nothing is."""
        old, new = ({one.name: one for one in each.listeners} for each in (before, self))
        found = [f"listener {name} added" for name in new if name not in old]
        found += [f"listener {name} changed" for name in new if name in old and new[name] != old[name]]
        found += [f"listener {name} removed" for name in old if name not in new]
        found += [f"{name} a super user" for name in self.super_users if name not in before.super_users]
        found += [f"{name} no super user" for name in before.super_users if name not in self.super_users]
        if self.names != before.names:
            found.append(_NAMES[self.names])
        if self.anonymous is not before.anonymous:
            found.append("ANONYMOUS a super user" if self.anonymous else "ANONYMOUS no super user")
        return "; ".join(found)


_NAMES = {
    "subject": "nodes known by the subject of their certificate",
    "both": "nodes known by names that no token can have, too",
    "marked": "nodes known by names that no token can have",
}


def client_security(document: KafkaClusterDocument, service: str) -> ClientSecurity | None:
    """What a service of the spec is to be started with; None where nodes speak plaintext. A ZooKeeper server knows
    nothing of Kafka's users."""
    spec = document.spec
    if spec.security.internal != "tls":
        return None
    if service == "zookeeper":
        return ClientSecurity()
    authorization = spec.authorization
    unasked = any(not one.asks for one in spec.listeners)
    refused = authorization is not None and authorization.anonymous == "refuse"
    return ClientSecurity(
        listeners=tuple(one.as_started for one in spec.listeners) if service == "broker" else (),
        super_users=authorization.super_users if authorization is not None else (),
        anonymous=unasked and not refused,
    )
