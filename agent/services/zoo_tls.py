"""What a ZooKeeper server that speaks TLS has in `zoo.cfg` beside the rest. Pure text; run with ZooKeeper 3.8.4, which
Kafka 3.8 and 3.9 bring (Administrator's Guide, "Quorum TLS" and "Communication using the Netty framework").

Members speak TLS to one another at the ports they have, and to clients at a port of their own: who comes without a
certificate of the cluster's CA is let in at neither. That port is in no membership, which has plaintext ports alone.

Between plaintext and TLS ("Upgrading existing non-TLS cluster with no downtime"):

    Z1  servers listen for clients at both ports; they dial one another in plaintext, and take both
    Z2  they dial one another by TLS, and take both

At a step the port in plaintext is in `zoo.cfg`, too: while Z2 is in hand it leaves the membership.
"""

from collections.abc import Mapping
from pathlib import Path

from agent.services.tls_properties import CLUSTER_CA, NODE_PEM
from agent.wire import ServiceDocument

_SERVER = "org.apache.zookeeper.server"


def secured(service: ServiceDocument, folder: Path) -> dict[str, str]:
    """The keys of one that speaks TLS. `folder` has the node's certificate and the CA it believes."""
    step = service.tls.step if service.tls is not None else None
    return {
        **(_of_step(service) if step is not None else {}),
        "serverCnxnFactory": f"{_SERVER}.NettyServerCnxnFactory",  # the usual one knows no TLS
        "secureClientPort": str(service.port),
        "secureClientPortAddress": service.address,
        "authProvider.x509": f"{_SERVER}.auth.X509AuthenticationProvider",
        "ssl.clientAuth": "need",
        **_keys("ssl", folder),
        "sslQuorum": "false" if step == "Z1" else "true",
        "ssl.quorum.clientAuth": "need",
        # Whoever has a certificate of this CA may do everything here, so which of them it is proves nothing; and a
        # member is called from addresses that its certificate need not have. 3.9 never looks (`fips-mode`).
        "ssl.quorum.hostnameVerification": "false",
        **_keys("ssl.quorum", folder),
    }


def names_plaintext(service: ServiceDocument) -> bool:
    """Whether the first membership of a server says where clients find servers in plaintext."""
    return service.tls is None or service.tls.step == "Z1"


def speaks_tls_alone(service: ServiceDocument) -> bool:
    """Whether it has no port in plaintext."""
    return service.tls is not None and service.tls.step is None


def _of_step(service: ServiceDocument) -> Mapping[str, str]:
    port = service.tls.plain_port if service.tls is not None else 0
    return {"portUnification": "true", "clientPort": str(port), "clientPortAddress": service.address}


def _keys(prefix: str, folder: Path) -> Mapping[str, str]:
    return {
        f"{prefix}.keyStore.type": "PEM",
        f"{prefix}.keyStore.location": str(folder / NODE_PEM),
        f"{prefix}.trustStore.type": "PEM",
        f"{prefix}.trustStore.location": str(folder / CLUSTER_CA),
    }
