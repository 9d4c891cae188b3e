"""What a ZooKeeper server that speaks TLS has in `zoo.cfg` beside the rest. Pure text; run with ZooKeeper 3.8.4, which
Kafka 3.8 and 3.9 bring (Administrator's Guide, "Quorum TLS" and "Communication using the Netty framework").

Members speak TLS to one another at the ports they have, and to clients at a port of their own: who comes without a
certificate of the cluster's CA is let in at neither. That port is in no membership, which has plaintext ports alone.
"""

from collections.abc import Mapping
from pathlib import Path

from agent.services.tls_properties import CLUSTER_CA, NODE_PEM
from agent.wire import ServiceDocument

_SERVER = "org.apache.zookeeper.server"


def secured(service: ServiceDocument, folder: Path) -> dict[str, str]:
    """The keys of one that speaks TLS. `folder` has the node's certificate and the CA it believes."""
    return {
        "serverCnxnFactory": f"{_SERVER}.NettyServerCnxnFactory",  # the usual one knows no TLS
        "secureClientPort": str(service.port),
        "secureClientPortAddress": service.address,
        "authProvider.x509": f"{_SERVER}.auth.X509AuthenticationProvider",
        "ssl.clientAuth": "need",
        **_keys("ssl", folder),
        "sslQuorum": "true",
        "ssl.quorum.clientAuth": "need",
        # Whoever has a certificate of this CA may do everything here, so which of them it is proves nothing; and a
        # member is called from addresses that its certificate need not have. 3.9 never looks (`fips-mode`).
        "ssl.quorum.hostnameVerification": "false",
        **_keys("ssl.quorum", folder),
    }


def _keys(prefix: str, folder: Path) -> Mapping[str, str]:
    return {
        f"{prefix}.keyStore.type": "PEM",
        f"{prefix}.keyStore.location": str(folder / NODE_PEM),
        f"{prefix}.trustStore.type": "PEM",
        f"{prefix}.trustStore.location": str(folder / CLUSTER_CA),
    }
