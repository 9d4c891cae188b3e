"""How `kedge rebuild` reaches brokers: in plaintext, or by the CAs of a copy, as the server that is lost did."""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import empty_view
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.admin_calls.calls import CONTROLLER_LISTENER, TLS_CONTROLLER_LISTENER
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.gateway import KafkaGateway
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster
from controlplane.storage.certificates.authority_copy import CopiedAuthorities


class RebuildDialer:
    """`Dial` of a rebuild. A cluster speaks TLS where its spec says so and a copy has its CAs."""

    def __init__(self, authorities: CopiedAuthorities, specs: Sequence[DeclaredSpec]) -> None:
        self._identities = ServerIdentities(authorities)
        self._dialer = DirectDialer(tls=self._identities)
        self._specs = {spec.name: spec for spec in specs}

    def __call__(self, found: FoundCluster, bootstrap: Sequence[str]) -> KafkaGateway:
        spec, listener = self._specs.get(found.name), CONTROLLER_LISTENER
        if spec is not None and found.authorities is not None:
            nowhere = empty_view(found.uid)
            believed = replace(nowhere.vms, authorities=found.authorities)
            self._identities.know(replace(nowhere, name=found.name, document=spec.document, vms=believed))
            listener = TLS_CONTROLLER_LISTENER
        return AdminGateway(self._dialer, found.uid, bootstrap, quorum_listener=listener)

    def close(self) -> None:
        """Closes all connections."""
        self._dialer.close()
