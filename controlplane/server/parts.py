"""A server's parts, as `controlplane.server.bootstrap` wires them, and the order in which they end."""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.api.audit.relay import AuditRoom
from controlplane.api.services import PortalServices
from controlplane.cluster.gateways import Gateways
from controlplane.converger.tick.loop import Converger
from controlplane.converger.tick.planning import PlanningService
from controlplane.converger.tick.runner import ThreadRunner
from controlplane.converger.tick.scheduler import Scheduler
from controlplane.runtime.polling import Poller
from controlplane.server.assembly.agent_upgrades import AgentsRoom
from controlplane.server.assembly.anomalies import AnomalyRoom
from controlplane.server.assembly.consumer_groups import GroupsRoom
from controlplane.server.assembly.drift import DriftRoom
from controlplane.server.assembly.failovers import PairsRoom
from controlplane.server.assembly.game_days import GamesRoom
from controlplane.server.assembly.git_sync import Sources
from controlplane.server.assembly.metric_pipeline import PipelineRoom
from controlplane.server.assembly.topics import TopicRoom
from controlplane.server.settings import Settings
from controlplane.storage.certificates.authority import Authority
from controlplane.storage.channels import Channels
from controlplane.storage.home import Home
from controlplane.storage.home_binding import HTTP
from controlplane.storage.lease_holder import Candidate


@dataclass(frozen=True, slots=True)
class BackgroundParts:
    """What runs beside the tick, each by a timer of its own."""

    sources: Sources
    names: Poller
    groups: GroupsRoom
    topics: TopicRoom
    drift: DriftRoom
    anomalies: AnomalyRoom
    agents: AgentsRoom
    games: GamesRoom
    audit: AuditRoom
    pipeline: PipelineRoom
    authority_copy: Poller
    passwords: Poller
    pairs: PairsRoom
    teller: Poller
    """Tells portals that are other processes how the loop does."""

    def start(self) -> None:
        """Begins to look."""
        self.sources.start()
        self.names.start()
        rooms = (self.groups, self.topics, self.drift, self.anomalies, self.agents, self.games, self.audit)
        for room in (*rooms, self.pipeline):
            room.poller.start()
        self.authority_copy.start()
        self.passwords.start()
        self.pairs.start()
        self.teller.start()

    def close(self) -> None:
        """Game days first: they are driven through the others."""
        self.games.close()
        self.teller.stop()
        self.pairs.close()
        self.passwords.stop()
        self.authority_copy.stop()
        self.sources.stop()
        self.names.stop()
        self.groups.close()
        self.topics.poller.stop()
        self.drift.poller.stop()
        self.anomalies.close()
        self.agents.poller.stop()
        self.audit.close()
        self.pipeline.close()


@dataclass(frozen=True, slots=True)
class Services:
    """A server's parts. `close` ends them in the order that keeps the promises."""

    settings: Settings
    home: Home
    portal: PortalServices
    converger: Converger
    scheduler: Scheduler
    candidate: Candidate
    runner: ThreadRunner
    planning: PlanningService
    gateways: Gateways
    authority: Authority | None
    channels: Channels
    agree_on_agent_url: Callable[[str], None]
    dispose: Callable[[], None]
    background: BackgroundParts

    def end_runs(self) -> None:
        """Before the API stops, where Terraform saves its states through it: no step begins, its runs are ended."""
        if self.settings.terraform.state == HTTP:
            self.scheduler.stop()
            self.runner.end_runs()

    def close(self) -> None:
        """Begins nothing new, ends what runs, gives the lease back. VMs stay up. Only after the API has stopped."""
        self.background.close()
        self.channels.stop()
        self.scheduler.stop()
        self.converger.close()
        self.planning.stop()
        self.runner.stop()
        self.gateways.close()
        self.candidate.resign()
        self.dispose()
