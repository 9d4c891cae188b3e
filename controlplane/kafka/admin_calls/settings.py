"""Settings of brokers that change while they run."""

from collections.abc import Collection, Mapping

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.admin_calls.effective_settings import read_broker_values
from controlplane.kafka.configs import apply_changes, read_cluster_defaults
from controlplane.kafka.settings_live import read_some, step_changes, step_refusals
from planner.broker_answers import ValueSeen
from planner.observed import SettingsSeen
from planner.rollout.live_step import LiveStep

_ANSWER_S = 4.0
"""What each broker is given to answer for its own settings; one that does not is left out."""


class SettingCalls(AdminCalls):
    """See `SettingGateway`."""

    def running_settings(self, names: Collection[str]) -> SettingsSeen:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            found = read_some(connection, names, live, timeout_s=deadline.capped(_ANSWER_S))
            defaults = read_cluster_defaults(connection, deadline)
            return SettingsSeen(found, {n: v for n, v in defaults.items() if n in names})

    def setting_refusals(self, step: LiveStep) -> Mapping[int, str | None]:
        with self._call() as (connection, deadline):
            live = connection.refresh_nodes(deadline)
            return step_refusals(connection, step, live, timeout_s=deadline.capped(_ANSWER_S))

    def change_settings(self, step: LiveStep) -> None:
        with self._call() as (connection, deadline):
            apply_changes(connection, step_changes(step), deadline)

    def broker_values(self, broker: int) -> Mapping[str, ValueSeen]:
        with self._call() as (connection, deadline):
            return read_broker_values(connection, broker, deadline)
