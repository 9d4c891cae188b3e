"""When the agents' credentials came into force: what a portal shows of them, read without the hashes themselves."""

from collections.abc import Mapping

from sqlalchemy import Engine, select

from controlplane.server.portal_rights import CREDENTIAL_COLUMNS
from controlplane.storage.agent_credentials import Credential, CredentialRefused, Vm
from controlplane.storage.tables import AGENT_CREDENTIAL
from events.engine import reading
from events.ids import ClusterUid, IntentId, NodeName


class SqlCredentialMoments:
    """`CredentialStore` of a portal. Nothing is enrolled, rotated or recognised here: agents call the loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enroll(self, vm: Vm, *, credential_sha256: str, intent_id: IntentId) -> Credential:
        """See CredentialStore. Raises CredentialRefused."""
        raise _refused()

    def rotate(self, vm: Vm, *, shown_sha256: str, next_sha256: str) -> Credential:
        """See CredentialStore. Raises CredentialRefused."""
        raise _refused()

    def recognise(self, vm: Vm, sha256: str, *, is_certified: bool = False) -> Credential | None:
        """See CredentialStore: nobody is known."""
        return None

    def get(self, vm: Vm) -> Credential | None:
        """See CredentialStore; without hashes."""
        return self.of_cluster(vm.cluster_uid).get(vm)

    def of_cluster(self, cluster_uid: ClusterUid) -> Mapping[Vm, Credential]:
        """See CredentialStore; without hashes. Raises StoreUnavailable."""
        wanted = select(*(AGENT_CREDENTIAL.c[name] for name in CREDENTIAL_COLUMNS))
        with reading(self._engine) as connection:
            rows = connection.execute(wanted.where(AGENT_CREDENTIAL.c.cluster_uid == cluster_uid)).all()
        found = (
            Credential(
                Vm(ClusterUid(row.cluster_uid), NodeName(row.node), row.generation),
                "",
                IntentId(row.intent_id),
                row.enrolled_at,
                rotated_at=row.rotated_at,
                outdated_shown_at=row.outdated_shown_at,
                certified_at=row.certified_at,
            )
            for row in rows
        )
        return {credential.vm: credential for credential in found}


def _refused() -> CredentialRefused:
    return CredentialRefused("a portal knows no credentials: agents call the loop")
