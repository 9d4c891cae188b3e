"""The HTTP API as typed calls. What can go wrong on the way becomes an error that says what to do next. Lists are read
whole, but for those of which somebody says how much is wanted.

Every POST carries an Idempotency-Key, so a request whose answer was lost is simply sent again with the same key.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel

from controlplane.api.schemas import (
    access as access_api,
    agents as agent_api,
    anomalies as anomaly_api,
    clusters as api,
    doctor as doctor_api,
    drift as drift_api,
    freezes as freeze_api,
    groups as group_api,
    images as image_api,
    logs as log_api,
    loop as loop_api,
    machines as machine_api,
    moves as move_api,
    networks as network_api,
    nodes as node_api,
    proposals as proposal_api,
    queries as look_api,
    resets as reset_api,
    rollbacks as rollback_api,
    search as search_api,
    spec_requests as request_api,
    topics as topic_api,
)
from controlplane.cli.chaos_calls import ChaosCalls
from controlplane.cli.errors import CliError, Refused, UnknownCluster
from controlplane.cli.exchange import CONNECT_TIMEOUT_S, TIMEOUT_S, Exchange, part
from controlplane.runtime.path_names import is_path_part
from events.spec.suggestions import nearest

_NO_CLUSTER = "cluster-not-found"
"""A path of a cluster may name something else that is not there, and the server tells which."""
_T = TypeVar("_T")


class Client(Exchange, ChaosCalls):
    """Talks to one server. Methods raise Unreachable, Refused and CliError; those of a cluster UnknownCluster too."""

    def version(self, *, timeout_s: float = TIMEOUT_S) -> api.VersionOut:
        """Who answers."""
        return self._get("/version", api.VersionOut, timeout_s=timeout_s)

    def clusters(self, *, timeout_s: float = TIMEOUT_S) -> list[api.ClusterOut]:
        """All living clusters, in short."""
        return self._whole("/clusters", list[api.ClusterOut], timeout_s=timeout_s)

    def find(self, text: str, *, limit: int) -> search_api.SearchOut:
        """What holds the text in any cluster."""
        return self._get("/search", search_api.SearchOut, params={"q": text, "limit": str(limit)})

    def pull_request(self, order: request_api.SpecRequestIn) -> request_api.SpecRequestOut:
        """Has a spec file become a pull request, or says what that would take."""
        return self._post("/pull-requests", order, request_api.SpecRequestOut)

    def cluster(self, name: str, *, at: str = "") -> api.ClusterDetailOut:
        """One cluster with all that is known of it; with `at` as it was at that position of the log, or that time."""
        params = {"at": at} if at else {}
        return self._of_cluster(name, lambda: self._get(_path(name), api.ClusterDetailOut, params=params))

    def events(
        self, name: str, *, after: int = 0, limit: int = 500, tail: int = 0, wait_s: float = 0.0
    ) -> api.EventsOut:
        """Events after a position, or the newest `tail` of them.

        With `wait_s` (at most 30) the server holds the answer until there is one or time is up.
        """
        params = {"after": str(after), "limit": str(limit), "tail": str(tail), "wait_s": f"{wait_s:g}"}
        path = _path(name, "events")
        return self._of_cluster(
            name, lambda: self._get(path, api.EventsOut, params=params, timeout_s=TIMEOUT_S + wait_s)
        )

    def endpoints(self, name: str) -> api.EndpointsOut:
        """How clients find the cluster."""
        return self._of_cluster(name, lambda: self._get(_path(name, "endpoints"), api.EndpointsOut))

    def state(self, name: str) -> api.StateOut:
        """The cluster as input for planners."""
        return self._of_cluster(name, lambda: self._get(_path(name, "state"), api.StateOut))

    def validate(self, spec: api.SpecIn) -> api.ValidateOut:
        """Every problem of a file."""
        return self._post("/validate", spec, api.ValidateOut)

    def plan(self, spec: api.SpecIn) -> api.PlansOut:
        """What applying the file would do."""
        return self._post("/plan", spec, api.PlansOut)

    def apply(self, order: api.ApplyIn) -> api.ApplyOut:
        """Declares what the file says."""
        return self._post("/apply", order, api.ApplyOut)

    def command(self, name: str, verb: str, reason: api.ReasonIn) -> api.CommandOut:
        """`pause`, `resume`, `roll-now` or `abort`."""
        return self._of_cluster(name, lambda: self._post(_path(name, verb), reason, api.CommandOut))

    def restart(self, name: str, order: node_api.RestartIn) -> api.CommandOut:
        """Asks for a rolling restart."""
        return self._of_cluster(name, lambda: self._post(_path(name, "restart"), order, api.CommandOut))

    def replace(self, name: str, order: node_api.ReplaceIn) -> api.CommandOut:
        """Asks for one node's next VM."""
        return self._of_cluster(name, lambda: self._post(_path(name, "replace"), order, api.CommandOut))

    def plan_moves(self, name: str, order: move_api.MovesPlanIn) -> move_api.MovesPlanOut:
        """What emptying brokers, or a rebalance, would move now."""
        return self._of_cluster(name, lambda: self._post(_path(name, "moves/plan"), order, move_api.MovesPlanOut))

    def evacuate(self, name: str, order: move_api.EvacuateIn) -> api.CommandOut:
        """Asks for brokers to be emptied and kept empty."""
        return self._of_cluster(name, lambda: self._post(_path(name, "evacuate"), order, api.CommandOut))

    def readmit(self, name: str, order: node_api.BrokersIn) -> api.CommandOut:
        """Lets brokers receive replicas again."""
        return self._of_cluster(name, lambda: self._post(_path(name, "readmit"), order, api.CommandOut))

    def rebalance(self, name: str, order: node_api.RebalanceIn) -> api.CommandOut:
        """Asks for replicas to be spread anew."""
        return self._of_cluster(name, lambda: self._post(_path(name, "rebalance"), order, api.CommandOut))

    def cancel_rebalance(self, name: str, order: node_api.CancelRebalanceIn) -> api.CommandOut:
        """Ends the rebalance in hand after its batch."""
        return self._of_cluster(name, lambda: self._post(_path(name, "rebalance/cancel"), order, api.CommandOut))

    def rolls(self, name: str, *, limit: int = 20, at: str = "") -> node_api.RollsOut:
        """The rolls of a cluster, the newest first; with `at` as they were then."""
        params = {"limit": str(limit), **({"at": at} if at else {})}
        return self._of_cluster(name, lambda: self._get(_path(name, "rolls"), node_api.RollsOut, params=params))

    def restart_check(self, name: str) -> node_api.RestartCheckOut:
        """Whether each service may be started anew now."""
        return self._of_cluster(name, lambda: self._get(_path(name, "restart-check"), node_api.RestartCheckOut))

    def anomalies(self, name: str, *, kind: str = "", state: str = "", limit: int = 100) -> anomaly_api.AnomaliesOut:
        """What was found wrong in a cluster, open ones first."""
        params = {"kind": kind, "state": state, "limit": str(limit)}
        path = _path(name, "anomalies")
        return self._of_cluster(name, lambda: self._get(path, anomaly_api.AnomaliesOut, params=params))

    def anomalies_everywhere(self) -> list[anomaly_api.AnomalyOut]:
        """The open ones of all clusters."""
        return self._whole("/anomalies", list[anomaly_api.AnomalyOut])

    def switch_healing(self, name: str, order: anomaly_api.HealingIn) -> api.CommandOut:
        """Has anomalies of a kind healed, or not."""
        return self._of_cluster(name, lambda: self._post(_path(name, "healing"), order, api.CommandOut))

    def notifiers(self) -> list[anomaly_api.NotifierOut]:
        """Who is told."""
        return self._whole("/notifiers", list[anomaly_api.NotifierOut])

    def test_notifier(self, name: str) -> anomaly_api.NotifierTestedOut:
        """Tells a notifier that this is a test."""
        path = f"/notifiers/{part(name)}/test"
        return self._post(path, api.ReasonIn(), anomaly_api.NotifierTestedOut)

    def topics(self, name: str, *, match: str = "") -> topic_api.TopicsOut:
        """The topics of a cluster, declared and observed, with that in their name."""
        path, asked = _path(name, "topics"), {"q": match} if match else {}
        return self._of_cluster(name, lambda: self._whole(path, topic_api.TopicsOut, of="topics", params=asked))

    def ailing_partitions(self, name: str, *, match: str = "") -> topic_api.AilingPartitionsOut:
        """The partitions of all topics that are not in sync, the worst first."""
        path, reply = _path(name, "ailing-partitions"), topic_api.AilingPartitionsOut
        return self._of_cluster(
            name, lambda: self._whole(path, reply, of="partitions", params={"q": match} if match else {})
        )

    def topic(self, name: str, topic: str) -> topic_api.TopicOut:
        """One topic."""
        path = _path(name, f"topics/{part(topic)}")
        return self._of_cluster(name, lambda: self._get(path, topic_api.TopicOut))

    def groups(self, name: str, *, match: str = "", after: str = "", limit: int = 100) -> group_api.GroupsOut:
        """A page of the consumer groups of a cluster, by name."""
        params = {"q": match, "after": after, "limit": str(limit)}
        path = _path(name, "groups")
        return self._of_cluster(name, lambda: self._get(path, group_api.GroupsOut, params=params))

    def group(self, name: str, group: str) -> group_api.GroupDetailOut:
        """One consumer group."""
        if not is_path_part(group):
            path, params = _path(name, "group"), {"group": group}
            return self._of_cluster(name, lambda: self._get(path, group_api.GroupDetailOut, params=params))
        path = _path(name, f"groups/{part(group)}")
        return self._of_cluster(name, lambda: self._get(path, group_api.GroupDetailOut))

    def dependents(self, name: str, broker: int) -> look_api.DependentsOut:
        """Who depends on a broker."""
        path = _path(name, f"brokers/{broker}/dependents")
        return self._of_cluster(name, lambda: self._get(path, look_api.DependentsOut))

    def plan_reset(self, name: str, order: reset_api.ResetPlanIn) -> reset_api.ResetPlanOut:
        """What putting offsets of a group elsewhere would mean now."""
        path = _path(name, "offset-resets/plan")
        return self._of_cluster(name, lambda: self._post(path, order, reset_api.ResetPlanOut))

    def reset_offsets(self, name: str, order: reset_api.ResetIn) -> reset_api.ResetOut:
        """Puts offsets of a group elsewhere, as planned."""
        return self._of_cluster(name, lambda: self._post(_path(name, "offset-resets"), order, reset_api.ResetOut))

    def logs(self, name: str, params: Mapping[str, str]) -> log_api.LogsOut:
        """A page of lines of the logs of its VMs; `params` as the route takes them."""
        return self._of_cluster(name, lambda: self._get(_path(name, "logs"), log_api.LogsOut, params=dict(params)))

    def drift(self, name: str) -> drift_api.DriftOut:
        """What was changed by hand in the cloud."""
        return self._of_cluster(name, lambda: self._get(_path(name, "drift"), drift_api.DriftOut))

    def ask_for_audit(self, name: str) -> drift_api.AuditAskedOut:
        """Has the cluster audited now."""
        path = _path(name, "drift/audit")
        return self._of_cluster(name, lambda: self._post(path, api.ReasonIn(), drift_api.AuditAskedOut))

    def adopt_topic(self, name: str, topic: str, order: topic_api.AdoptTopicIn) -> api.CommandOut:
        """Has Kedge keep a topic that was made outside."""
        path = _path(name, f"topics/{part(topic)}/adopt")
        return self._of_cluster(name, lambda: self._post(path, order, api.CommandOut))

    def delete_topic(self, name: str, topic: str, order: topic_api.DeleteTopicIn) -> api.CommandOut:
        """Records the tombstone of a topic."""
        path = _path(name, f"topics/{part(topic)}/delete")
        return self._of_cluster(name, lambda: self._post(path, order, api.CommandOut))

    def delete(self, name: str, order: api.DeleteIn) -> api.CommandOut:
        """Records the tombstone."""
        return self._of_cluster(name, lambda: self._post(_path(name, "delete"), order, api.CommandOut))

    def confirm_loss(self, name: str, order: api.LossIn) -> api.CommandOut:
        """Records that VMs which a listing calls gone are gone."""
        return self._of_cluster(name, lambda: self._post(_path(name, "losses"), order, api.CommandOut))

    def sources(self) -> list[api.SourceOut]:
        """All git sources."""
        return self._whole("/sources", list[api.SourceOut])

    def poll_source(self, name: str) -> api.SourcePolledOut:
        """Has the server look at a source now."""
        return self._post(f"/sources/{part(name)}/poll", api.ReasonIn(), api.SourcePolledOut)

    def accept_source(self, name: str, order: api.AcceptIn) -> api.SourcePolledOut:
        """Accepts a rewritten history."""
        return self._post(f"/sources/{part(name)}/accept", order, api.SourcePolledOut)

    def topic_declarations(self, name: str, topic: str) -> rollback_api.TopicDeclarationsOut:
        """What was declared of a topic."""
        path = _path(name, f"topics/{part(topic)}/declarations")
        return self._of_cluster(name, lambda: self._whole(path, rollback_api.TopicDeclarationsOut, of="declarations"))

    def rollback(self, name: str, order: rollback_api.RollbackIn, *, topic: str = "") -> rollback_api.RollbackOut:
        """Puts the spec of an earlier generation back, or an earlier declaration of a topic, or says what that does."""
        path = _path(name, f"topics/{part(topic)}/rollback" if topic else "rollback")
        return self._of_cluster(name, lambda: self._post(path, order, rollback_api.RollbackOut))

    def take_over(self, name: str, order: api.SourceIn) -> api.CommandOut:
        """Hands a cluster's spec over to another source."""
        return self._of_cluster(name, lambda: self._post(_path(name, "source"), order, api.CommandOut))

    def networks(self) -> network_api.NetworksOut:
        """The networks Kedge makes."""
        return self._whole("/networks", network_api.NetworksOut, of="items")

    def remove_network(self, name: str, order: network_api.NetworkRemovalIn) -> network_api.NetworkAskedOut:
        """Asks for a network's removal."""
        return self._post(f"/networks/{part(name)}/remove", order, network_api.NetworkAskedOut)

    def repair_network(self, name: str, order: network_api.NetworkIn) -> network_api.NetworkAskedOut:
        """Asks for what is missing of a network to be made again."""
        return self._post(f"/networks/{part(name)}/repair", order, network_api.NetworkAskedOut)

    def images(self) -> image_api.ImagesOut:
        """The image catalogue."""
        return self._whole("/images", image_api.ImagesOut, of="items")

    def image(self, name: str) -> image_api.ImageOut:
        """One revision with the clusters it concerns."""
        return self._get(f"/images/{part(name)}", image_api.ImageOut)

    def publish_image(self, order: image_api.ImageIn) -> image_api.ImagePublishedOut:
        """Publishes a revision."""
        return self._post("/images", order, image_api.ImagePublishedOut)

    def withdraw_image(self, name: str, order: image_api.ImageWithdrawalIn) -> image_api.ImagePublishedOut:
        """Withdraws a revision."""
        return self._post(f"/images/{part(name)}/withdraw", order, image_api.ImagePublishedOut)

    def freezes(self, *, past: bool) -> freeze_api.FreezesOut:
        """The freezes; `past` ones too, or those that are not over."""
        return self._whole("/freezes", freeze_api.FreezesOut, of="items", params={"past": str(past).lower()})

    def freeze(self, order: freeze_api.FreezeIn) -> freeze_api.FreezeSaidOut:
        """Declares a freeze."""
        return self._post("/freezes", order, freeze_api.FreezeSaidOut)

    def thaw(self, name: str, order: freeze_api.ThawIn) -> freeze_api.FreezeSaidOut:
        """Ends a freeze."""
        return self._post(f"/freezes/{part(name)}/thaw", order, freeze_api.FreezeSaidOut)

    def loop(self) -> loop_api.LoopOut:
        """How the loop of the server that answers does."""
        return self._get("/loop", loop_api.LoopOut)

    def machines(self, cloud: str, region: str) -> machine_api.MachinesOut:
        """What clouds sell; "" does not narrow it."""
        return self._whole("/machines", machine_api.MachinesOut, of="items", params={"cloud": cloud, "region": region})

    def doctor(self, cloud: str) -> doctor_api.DoctorOut:
        """Whether a cloud is ready as the server reaches it, as far as that is known by now."""
        return self._get("/doctor", doctor_api.DoctorOut, params={"cloud": cloud})

    def agents(self) -> agent_api.AgentsOut:
        """The agents VMs are to run, and how far each VM is."""
        return self._whole("/agents", agent_api.AgentsOut, of="clusters")

    def publish_agent(self, order: agent_api.AgentReleaseIn) -> agent_api.AgentSaidOut:
        """Publishes a version of the agent."""
        return self._post("/agents", order, agent_api.AgentSaidOut)

    def withdraw_agent(self, version: str, order: agent_api.AgentReasonIn) -> agent_api.AgentSaidOut:
        """Withdraws a version of the agent."""
        return self._post(f"/agents/{part(version)}/withdraw", order, agent_api.AgentSaidOut)

    def resume_agents(self, order: agent_api.AgentReasonIn) -> agent_api.AgentSaidOut:
        """Lets the upgrade of agents go on after a failure."""
        return self._post("/agents/resume", order, agent_api.AgentSaidOut)

    def whoami(self) -> access_api.WhoOut:
        """Who the token is of, and what it may do."""
        return self._get("/whoami", access_api.WhoOut)

    def tokens(self, *, everyone: bool = False) -> list[access_api.TokenOut]:
        """One's own tokens, or all."""
        return self._whole("/tokens", list[access_api.TokenOut], params={"everyone": str(everyone).lower()})

    def make_token(self, order: access_api.TokenIn) -> access_api.TokenMadeOut:
        """A new token, with its text."""
        return self._post("/tokens", order, access_api.TokenMadeOut)

    def revoke_token(self, token_id: str) -> api.ChangedOut:
        """Ends a token."""
        return self._post(f"/tokens/{part(token_id)}/revoke", api.ReasonIn(), api.ChangedOut)

    def audit(self, params: Mapping[str, str]) -> access_api.AuditOut:
        """A page of the audit trail."""
        return self._get("/audit", access_api.AuditOut, params=params)

    def check_audit(self) -> access_api.AuditCheckOut:
        """Holds every entry to its hash."""
        return self._get("/audit/check", access_api.AuditCheckOut)

    def proposals(self, *, everything: bool = False) -> list[proposal_api.ProposalOut]:
        """Changes that wait for a second person; with `everything` also those that are over."""
        params = {"everything": str(everything).lower()}
        return self._whole("/proposals", list[proposal_api.ProposalOut], params=params)

    def proposal(self, number: str) -> proposal_api.ProposalDetailOut:
        """One of them with its plan."""
        return self._get(f"/proposals/{part(number)}", proposal_api.ProposalDetailOut)

    def decide_proposal(self, number: str, verb: str, decision: proposal_api.DecisionIn) -> proposal_api.ProposalOut:
        """`approve` or `reject`."""
        return self._post(f"/proposals/{part(number)}/{verb}", decision, proposal_api.ProposalOut)

    def backup(self, order: api.BackupIn) -> api.BackupOut:
        """Has the server write a backup."""
        return self._post("/backup", order, api.BackupOut)

    def get_of(self, name: str, tail: str, reply: type[_T]) -> _T:
        """See ChaosCalls."""
        return self._of_cluster(name, lambda: self._get(_path(name, tail), reply))

    def whole_of(self, name: str, tail: str, reply: type[_T], of: str) -> _T:
        """See ChaosCalls."""
        return self._of_cluster(name, lambda: self._whole(_path(name, tail), reply, of=of))

    def post_of(self, name: str, tail: str, body: BaseModel, reply: type[_T]) -> _T:
        """See ChaosCalls."""
        return self._of_cluster(name, lambda: self._post(_path(name, tail), body, reply))

    def _of_cluster(self, name: str, ask: Callable[[], _T]) -> _T:
        try:
            return ask()
        except Refused as refused:
            if refused.code != _NO_CLUSTER:
                raise
            raise UnknownCluster(name, hint=self._hint(name)) from None

    def _hint(self, name: str) -> str:
        """Did you mean. The list is a courtesy: without it the error stays the one about the name."""
        try:
            known = [cluster.name for cluster in self.clusters(timeout_s=CONNECT_TIMEOUT_S)]
        except CliError:
            return "kedge get"
        meant = nearest(name, known)
        if meant is not None:
            return f"did you mean `{meant}`?"
        return "kedge get lists the clusters" if known else "no cluster is declared yet: kedge apply -f FILE"


def _path(name: str, tail: str = "") -> str:
    return f"/clusters/{part(name)}" + (f"/{tail}" if tail else "")
