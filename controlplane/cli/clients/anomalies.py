"""What was found wrong, what is healed of it, and who is told."""

from controlplane.api.schemas import anomalies as anomaly_api, commands as command_api
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part


class AnomalyCalls(ApiCalls):
    def anomalies(self, name: str, *, kind: str = "", state: str = "", limit: int = 100) -> anomaly_api.AnomaliesOut:
        """What was found wrong in a cluster, open ones first."""
        params = {"kind": kind, "state": state, "limit": str(limit)}
        return self.get_of(name, "anomalies", anomaly_api.AnomaliesOut, params=params)

    def anomalies_everywhere(self) -> list[anomaly_api.AnomalyOut]:
        """The open ones of all clusters."""
        return self._whole("/anomalies", list[anomaly_api.AnomalyOut])

    def switch_healing(self, name: str, order: anomaly_api.HealingIn) -> command_api.CommandOut:
        return self.post_of(name, "healing", order, command_api.CommandOut)

    def notifiers(self) -> list[anomaly_api.NotifierOut]:
        """Who is told."""
        return self._whole("/notifiers", list[anomaly_api.NotifierOut])

    def test_notifier(self, name: str) -> anomaly_api.NotifierTestedOut:
        """Tells a notifier that this is a test."""
        path = f"/notifiers/{part(name)}/test"
        return self._post(path, command_api.ReasonIn(), anomaly_api.NotifierTestedOut)
