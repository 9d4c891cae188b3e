"""What services beside the tick saw last: consumer groups, hot brokers, CPU, audits of places."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from controlplane.cluster.observed.consumer_groups import GROUPS_NOTED, GroupsNoted, notes_of
from controlplane.cluster.observed.cpu_shares import CPU_NOTED, CpuNoted, cpu_of
from controlplane.cluster.observed.hot_brokers import HOT_NOTED, HotNoted, hot_of
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import BackgroundSeen
from controlplane.converger.situation.ports import Ports
from events.ids import ClusterUid

GROUPS_EVERY = timedelta(seconds=30)
"""How often it is read what was last seen of consumer groups, hot brokers and CPU, for all clusters at once."""


class BackgroundReader:
    """Keeps what it read for all clusters."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._groups: tuple[datetime, Mapping[ClusterUid, GroupsNoted]] | None = None
        self._hot: tuple[datetime, Mapping[ClusterUid, HotNoted]] | None = None
        self._cpu: tuple[datetime, Mapping[ClusterUid, CpuNoted]] | None = None

    def read(self, view: ClusterView) -> BackgroundSeen:
        """What is known of the cluster."""
        return BackgroundSeen(
            groups=self._groups_of(view), hot=self._hot_of(view), cpu=self._cpu_of(view), drift=self._ports.drift(view)
        )

    def _groups_of(self, view: ClusterView) -> GroupsNoted | None:
        now = self._ports.clock()
        if self._groups is None or now - self._groups[0] >= GROUPS_EVERY:
            self._groups = now, notes_of(self._ports.latest.of_kind(GROUPS_NOTED))
        return self._groups[1].get(view.uid)

    def _cpu_of(self, view: ClusterView) -> CpuNoted | None:
        now = self._ports.clock()
        if self._cpu is None or now - self._cpu[0] >= GROUPS_EVERY:
            self._cpu = now, cpu_of(self._ports.latest.of_kind(CPU_NOTED))
        return self._cpu[1].get(view.uid)

    def _hot_of(self, view: ClusterView) -> HotNoted | None:
        now = self._ports.clock()
        if self._hot is None or now - self._hot[0] >= GROUPS_EVERY:
            self._hot = now, hot_of(self._ports.latest.of_kind(HOT_NOTED))
        return self._hot[1].get(view.uid)
