"""Voters, controllers and feature levels."""

from kafka.protocol.admin import (
    UpdateFeaturesRequest,
)

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.raw import AddRaftVoterRequest, RemoveRaftVoterRequest, directory_uuid

_DUPLICATE_VOTER = 126
_NO_SUCH_VOTER = 127
_UPGRADE = 1


class QuorumCalls(AdminCalls):
    """See `QuorumGateway`."""

    def update_feature(self, name: str, level: int, *, validate_only: bool) -> None:
        what = f"{'validating' if validate_only else 'finalising'} {name} {level}"
        with self._call() as (connection, deadline):
            self._require_kraft(connection, what, "its one level is inter.broker.protocol.version", deadline)
            key = UpdateFeaturesRequest.FeatureUpdateKey(
                feature=name, max_version_level=level, allow_downgrade=False, upgrade_type=_UPGRADE
            )
            # validate_only exists since v1 (KIP-584); an older broker would make the change
            request = UpdateFeaturesRequest(
                timeout_ms=int(deadline.left_s * 1000),
                feature_updates=[key],
                validate_only=validate_only,
                min_version=1,
            )
            answer = connection.ask(request, what=what, deadline=deadline)
            self._check(answer, what)
            for result in answer.results or ():  # per feature up to v1
                self._check(result, what)

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        ports = {self._quorum_listener: port, **self._more_quorum_listeners}
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=int(self._limit_s * 800),
            voter_id=controller,
            voter_directory_id=directory_uuid(directory_id),
            listeners=[AddRaftVoterRequest.Listener(name=name, host=host, port=at) for name, at in ports.items()],
        )
        return self._change(request, f"adding voter {controller}", already=_DUPLICATE_VOTER)

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        request = RemoveRaftVoterRequest(
            cluster_id=None, voter_id=controller, voter_directory_id=directory_uuid(directory_id)
        )
        return self._change(request, f"removing voter {controller}", already=_NO_SUCH_VOTER)

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        words = "no ZooKeeper is known of this cluster: where a quorum leads, its active controller is restarted"
        what = f"electing another controller than {broker}"
        raise KafkaRefused(what=what, where=self._cluster, words=words, error="UnsupportedVersion")
