"""A server's parts, as `controlplane.bootstrap` wires them, and the order in which they end."""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.agents.setup import AgentsRoom
from controlplane.anomalies.setup import AnomalyRoom
from controlplane.candidate import Candidate
from controlplane.certificates.authority import Authority
from controlplane.converger.loop import Converger
from controlplane.converger.runner import ThreadRunner
from controlplane.drift.setup import DriftRoom
from controlplane.games.setup import GamesRoom
from controlplane.gateways import Gateways
from controlplane.gitsync.setup import Sources
from controlplane.groups.setup import GroupsRoom
from controlplane.home import Home
from controlplane.homeclaim import HTTP
from controlplane.planning import PlanningService
from controlplane.poller import Poller
from controlplane.portal.audit.relay import AuditRoom
from controlplane.portal.services import PortalServices
from controlplane.scheduler import Scheduler
from controlplane.settings import Settings
from controlplane.topicroom import TopicRoom


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
    agree_on_agent_url: Callable[[str], None]
    dispose: Callable[[], None]
    sources: Sources
    names: Poller
    groups: GroupsRoom
    topics: TopicRoom
    drift: DriftRoom
    anomalies: AnomalyRoom
    agents: AgentsRoom
    games: GamesRoom
    audit: AuditRoom
    teller: Poller
    """Tells portals that are other processes how the loop does."""

    def end_runs(self) -> None:
        """Before the API stops, where Terraform saves its states through it: no step begins, its runs are ended."""
        if self.settings.terraform_state == HTTP:
            self.scheduler.stop()
            self.runner.end_runs()

    def close(self) -> None:
        """Begins nothing new, ends what runs, gives the lease back. VMs stay up. Only after the API has stopped."""
        self.games.close()
        self.teller.stop()
        self.sources.stop()
        self.names.stop()
        self.groups.close()
        self.topics.poller.stop()
        self.drift.poller.stop()
        self.anomalies.close()
        self.agents.poller.stop()
        self.audit.close()
        self.scheduler.stop()
        self.converger.close()
        self.planning.stop()
        self.runner.stop()
        self.gateways.close()
        self.candidate.resign()
        self.dispose()
