"""One cluster: what is known of it, and what it is told."""

from collections.abc import Mapping

from controlplane.api.schemas import (
    clusters as api,
    commands as command_api,
    drift as drift_api,
    figures as figure_api,
    logs as log_api,
    queries as look_api,
)
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import TIMEOUT_S


class ClusterCalls(ApiCalls):
    def cluster(self, name: str, *, at: str = "") -> api.ClusterDetailOut:
        """One cluster with all that is known of it; with `at` as it was at that position of the log, or that time."""
        params = {"at": at} if at else {}
        return self.get_of(name, "", api.ClusterDetailOut, params=params)

    def events(
        self, name: str, *, after: int = 0, limit: int = 500, tail: int = 0, wait_s: float = 0.0
    ) -> api.EventsOut:
        """Events after a position, or the newest `tail` of them.

        With `wait_s` (at most 30) the server holds the answer until there is one or time is up.
        """
        params = {"after": str(after), "limit": str(limit), "tail": str(tail), "wait_s": f"{wait_s:g}"}
        return self.get_of(name, "events", api.EventsOut, params=params, timeout_s=TIMEOUT_S + wait_s)

    def endpoints(self, name: str) -> api.EndpointsOut:
        """How clients find the cluster."""
        return self.get_of(name, "endpoints", api.EndpointsOut)

    def state(self, name: str) -> api.StateOut:
        """The cluster as input for planners."""
        return self.get_of(name, "state", api.StateOut)

    def command(self, name: str, verb: str, reason: command_api.ReasonIn) -> command_api.CommandOut:
        """`pause`, `resume`, `roll-now` or `abort`."""
        return self.post_of(name, verb, reason, command_api.CommandOut)

    def delete(self, name: str, order: command_api.DeleteIn) -> command_api.CommandOut:
        """Records the tombstone."""
        return self.post_of(name, "delete", order, command_api.CommandOut)

    def confirm_loss(self, name: str, order: command_api.LossIn) -> command_api.CommandOut:
        """Records that VMs which a listing calls gone are gone."""
        return self.post_of(name, "losses", order, command_api.CommandOut)

    def drift(self, name: str) -> drift_api.DriftOut:
        """What was changed by hand in the cloud."""
        return self.get_of(name, "drift", drift_api.DriftOut)

    def ask_for_audit(self, name: str) -> drift_api.AuditAskedOut:
        return self.post_of(name, "drift/audit", command_api.ReasonIn(), drift_api.AuditAskedOut)

    def logs(self, name: str, params: Mapping[str, str]) -> log_api.LogsOut:
        """A page of lines of the logs of its VMs; `params` as the route takes them."""
        return self.get_of(name, "logs", log_api.LogsOut, params=dict(params))

    def figures(self, name: str) -> figure_api.FiguresOut:
        """What its brokers did of late."""
        return self.get_of(name, "figures", figure_api.FiguresOut)

    def dependents(self, name: str, broker: int) -> look_api.DependentsOut:
        """Who depends on a broker."""
        return self.get_of(name, f"brokers/{broker}/dependents", look_api.DependentsOut)
