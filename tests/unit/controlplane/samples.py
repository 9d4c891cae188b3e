"""One sample of every event type, and a state of a cluster in which it may happen."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ChaosView, ClusterView, EvacuationView
from controlplane.cluster.views.agents import AgentOrderView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.cluster.views.cost_tags import CostTagsView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.game_days import GameView, PlayedView
from controlplane.cluster.views.healing import DemotionView, DiskMovesView, OfflineFixView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.offset_resets import ResetView
from controlplane.cluster.views.producer_quota import ProducerQuotaView
from controlplane.cluster.views.quorum import VoterChangeView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.cluster.views.running_settings import (
    Before,
    RestartView,
    RollingRestartView,
    SettingChangeView,
    SettingStage,
)
from controlplane.cluster.views.security import BORN_PLAIN, SecurityView
from controlplane.cluster.views.stuck_moves import StuckMovesView
from events import anomaly_facts as anomalies, facts, proposal_facts as proposals
from events.spec.conversion import to_data
from tests.builders import BEFORE, a_document, a_planned, a_view, an_instance
from tests.changed_view import changed_view
from tests.unit.controlplane.external_samples import EXTERNAL_SAMPLES, external_states
from tests.unit.controlplane.failover_samples import ONE_OF_EACH as FAILOVER_SAMPLES
from tests.unit.controlplane.migration_samples import MIGRATION_SAMPLES, migration_states
from tests.unit.controlplane.topic_samples import TOPIC_SAMPLES, topic_states
from tests.unit.controlplane.user_samples import USER_SAMPLES, user_states

A1, A2, CA1, CA2 = "brokers-a-0.g1", "brokers-a-0.g2", "controllers-a-0.g1", "controllers-a-0.g2"
_SLOWED = ProducerQuotaView(1_000_000.0, None, "pool brokers: broker 1000 (96% full)", BEFORE)
_TAGGED = {A1: CostTagsView({"env": "test"}, {"team": "payments"}, ("env",))}

AGENT_BUILT = facts.AgentBuilt(
    "cp311-x86_64", "https://mirror.example/kedge-agent-0.2.0-cp311-x86_64.tar.gz", "ab" * 32, 9_000_000, "c2lnbmVk"
)

SAMPLES: tuple[object, ...] = (
    *TOPIC_SAMPLES,
    *USER_SAMPLES,
    *EXTERNAL_SAMPLES,
    *FAILOVER_SAMPLES,
    proposals.ProposalMade(
        id="0123456789ab",
        change="apply",
        clusters=("orders",),
        topic="",
        text="kind: KafkaCluster",
        file="orders.yaml",
        message="drill",
        digest="d1-d2-d3",
        reasons=("orders: chaos is allowed (policy `payments`)",),
        author="user:anna",
        claimed="",
        source="api",
        via="session",
        commit="",
        expires_at=datetime(2026, 1, 8, tzinfo=UTC),
    ),
    proposals.ProposalApproved("0123456789ab", "user:bob", "fine"),
    proposals.ProposalRejected("0123456789ab", "user:bob", "not before Friday"),
    proposals.ProposalVoided("0123456789ab", "its time was up"),
    proposals.ProposalExecuted("0123456789ab", "orders is declared, generation 2"),
    facts.NameTaken("orders", "c0ffee"),
    facts.ClusterDeclared("c0ffee", "orders", 2, to_data(a_document()), "person:anna"),
    facts.ClusterDeletionRequested("orders", "no longer needed"),
    facts.ClusterPaused("lunch", datetime(2026, 1, 1, 13, tzinfo=UTC)),
    facts.ClusterResumed("back"),
    facts.RecycleAborted("second thoughts"),
    facts.ImagePublished(
        "4.2.0", 3, (facts.RegionImage("aws", "eu-west-1", "arm64", "ami-0123"),), "", "", "critical", "CVE-2026-1", ""
    ),
    facts.ImageWithdrawn("4.2.0", 3, "its VMs do not boot"),
    facts.FreezeDeclared(
        "freeze-1", datetime(2026, 1, 5, tzinfo=UTC), "winter sale", ("orders",), ("payments",), {"stage": "production"}
    ),
    facts.FreezeThawed("freeze-1", "the sale is over"),
    facts.AgentPublished("0.2.0", "cHVibGlj", (AGENT_BUILT,), "quicker"),
    facts.AgentWithdrawn("0.2.0", "it forgets disks"),
    facts.AgentRolloutResumed("the mirror is back"),
    facts.AgentUpgradeRequested("0.2.0-7", A1, "0.2.0", "cHVibGlj", (AGENT_BUILT,), {"broker": 4711}),
    facts.AgentUpgraded("0.2.0-7", A1),
    facts.AgentUpgradeFailed("0.2.0-7", A1, "agent 0.2.0 ended 3 times before it had reported"),
    facts.AuthoritiesMade("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"),
    facts.CertificateIssued(A1, "1f", datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    facts.OverlayKeyReported(A1, 1, "j0DFrbaPJWJK5bIU6nZ6bslNgp09e14a0bpvPiE4KF8="),
    facts.PublicAddressesSeen(A1, ("203.0.113.7", "2001:db8::7")),
    facts.CertificateRestartRequested("certificates-1", (A1,), "certificates end from 2026-09-01 on", True, ""),
    facts.CertificatesRevoked(A1, "asked by anna: its VM was stolen"),
    facts.AuthorityReplaceRequested("ca-1", "cluster", "asked by anna: its key may have leaked"),
    facts.NextAuthorityMade("ca-1", "-----BEGIN CERTIFICATE-----"),
    facts.AuthorityPhaseRequested("ca-1", "reissue", "asked by anna: clients have both"),
    facts.AuthorityPhaseReached("ca-1", "reissue"),
    facts.ImageChosen(
        "4.1.1", 3, (facts.RegionImage("local", "local-1", "any", "r3"),), "", "", "critical", "CVE-2026-1"
    ),
    facts.SurgeRequested("intent-1", (a_planned("brokers-a-0", 2, service_id=1200),), "Kafka 4.1.1 -> 4.2.0"),
    facts.SurgeCompleted("intent-1", (facts.LaunchedInstance(A2, "vm-1", "127.64.0.9"),), {}),
    facts.RunFailed("intent-1", "RunInterrupted", "killed half-way", True),
    facts.MachineSubstituted("intent-1", {A2: "medium"}, "NoCapacity: none left"),
    facts.InstanceJoined(A2, 1003),
    facts.JoinFailed(A2, "its agent has not reported after 120 s"),
    facts.TakeoverFailed(A2, "failed after 600 s"),
    facts.InstanceReconfigured(
        A2, 2, {"num.io.threads": "8"}, {"num.io.threads": "8", "num.partitions": None}, "num.io.threads=8"
    ),
    facts.InstanceLost(A1, "the cloud says it is gone"),
    facts.QuorumFounded("k-id", "4.1", (facts.FoundingVoter("controllers-a-0", 100, "127.64.0.1", 9093, "dir"),)),
    facts.EnsembleFounded("k-id", "3.8", (facts.FoundingServer("zookeepers-a-0", 100, "127.64.0.1", 2181, "dir"),)),
    facts.ClusterIdFixed("kafka-cluster"),
    facts.ProtocolRaised("3.8", "3.9", "all brokers run Kafka 3.9.1"),
    *MIGRATION_SAMPLES,
    facts.SecurityStepRequested("C1", 1, 1, "controllers listen with TLS, too (9090); 5 more steps after it"),
    facts.SecurityStepCompleted("C1", 1, "all 3 controllers serve with it"),
    facts.LeastRightsBegun("every broker has the ACLs that Kedge works with"),
    facts.ClusterAdopted(
        "the tags of 6 VMs", 1007, (facts.SpentNode("brokers-a-0", 4, 3),), {"controllers-a-0": "127.64.0.1"}, True
    ),
    facts.InstanceAdopted(
        a_planned("brokers-a-0", 4, service_id=1006), "intent-1", "vm-1", "127.64.0.9", "joined", 2, True, False
    ),
    facts.RecycleStarted(1, ("brokers-d-0",), ("brokers-a-0",), (), "Kafka 4.1.1 -> 4.2.0"),
    facts.RecycleCompleted(1),
    facts.DrainRequested("drain-1", (A1,), (1000,), {"1000": 1003}, (1001, 1002, 1003), 1, "replaced"),
    facts.DrainPlanned("drain-1", "ab" * 32, "spark", 12, 600, 2, {"bytes_ratio": 1.0, "moves": [1, 2]}),
    facts.DrainPlanFailed("drain-1", "the disks of rack a are full", True),
    facts.DrainAbandoned("drain-1", "broker 1003 died"),
    facts.BatchStarted("drain-1", 0, 6, 300),
    facts.NodeDrained("drain-1", (A1,), 600, 12),
    facts.FenceRequested((A1,), "drained"),
    facts.NodeFenced(A1, "agent"),
    facts.FenceReverted(A1, "metadata names it again"),
    facts.BrokerUnregistered(A1, 1000),
    facts.ReleaseRequested("intent-2", CA1),
    facts.ReleaseCompleted("intent-2"),
    facts.BindRequested("intent-3", CA2),
    facts.BindCompleted("intent-3"),
    facts.GrowthRequested("intent-9", A1, {"brokers-a-0.data.v1": 200}, "brokers-a-0: disk 100 -> 200 GiB"),
    facts.GrowthCompleted("intent-9"),
    facts.VolumeLimitFound("brokers-a-0.data.v1", 60_400_000),
    facts.ProducerQuotaLowered(1_000_000.0, None, "pool brokers: broker 1000 (96% full)"),
    facts.ProducerQuotaRestoreRequested("no disk is nearly full any more, or it grows"),
    facts.ProducerQuotaRestored(None),
    facts.QuotasChangeRequested(
        "quotas-1",
        (facts.EntityQuota((("client-id", "app"), ("user", None)), {"producer_byte_rate": 5}),),
        "more",
    ),
    facts.QuotasChanged("", (facts.EntityQuota((("user", None),), {"request_percentage": 50}),)),
    facts.GrowthDecided("brokers", 100, 120, "broker 1000 (83% full); disk.grow.above is 80%, at most 500 GiB"),
    facts.TaggingRequested("intent-8", A1, {"team": "payments"}, ("env",), "cost tags team=payments; without env"),
    facts.TaggingCompleted("intent-8"),
    facts.TaggingFailed("intent-8", "the credentials may not tag"),
    facts.RetireRequested("intent-4", (A1,), ("brokers-a-0.data.v1",), "empty, stopped and unregistered"),
    facts.RetireCompleted("intent-4"),
    facts.ReplacementCompleted("brokers-a-0", A1, A2),
    facts.FinalisationRequested("metadata.version", 29, "all nodes support 4.2.0"),
    facts.FeatureFinalised("metadata.version", 29),
    facts.SettingsChangeRequested(
        "change-1", 1, {"num.io.threads": "16"}, {"num.io.threads": "16"}, {"num.io.threads": "16"}, "the spec says so"
    ),
    facts.SettingsChanged("change-1"),
    facts.SettingsTried("change-1"),
    facts.SettingsCanaryStood("change-1"),
    facts.SettingsRevertRequested("change-1", "it fell while it was watched: failed"),
    facts.SettingsReverted("change-1"),
    facts.RestartRequested(
        A1,
        1,
        2,
        {"num.partitions": "6"},
        {"num.partitions": "6"},
        True,
        "num.partitions=6 (the first one, to be watched)",
    ),
    facts.RestartCompleted(A1),
    facts.RestartRevertRequested(A1, 3, "not back in sync after 120 s: starting"),
    facts.RestartReverted(A1),
    facts.SettingsRefused("", 1, 1001, {"num.io.threads": "99"}, "not greater than double the current value 8"),
    facts.OrderRenewed(A1, "all 4 partitions on broker 1000 keep their min ISR without it"),
    facts.RollingRestartRequested("request-1", (A1, CA1), "asked by anna: new certificates"),
    facts.RollingRestartCompleted("request-1"),
    facts.NodeReplaceRequested(A1, "asked by anna: slow disk", True),
    facts.HealingRequested(A1, "brokers-a-0", "deadlock", "restart", "2 threads wait for each other; a fresh process"),
    anomalies.AnomalyFound(
        "a-1", "orders", "slow-broker", "broker 1002", "flush p99 90 ms, its peers 4 ms", "waiting", "not demoted: off"
    ),
    anomalies.AnomalyChanged("a-1", "over", "it is as fast as its peers"),
    facts.HealingSwitched("slow-broker", False, datetime(2026, 1, 1, 13, tzinfo=UTC), "asked by anna: a load test"),
    facts.LossesDoubted((A1, CA1), ("a",)),
    facts.LossesConfirmed((A1, CA1), ("a",), "asked by anna: the site burned down"),
    facts.DemoteRequested(A1, 1000, "flush p99 90 ms, its peers 4 ms"),
    facts.DiskMovesRequested(1000, "/data2", "asked by anna: it is to go", 1_000_000),
    facts.DiskMovesThrottled(1000, 500_000, "50% of 1.0 MB/s, which clients leave them"),
    facts.DiskMovesCancelRequested(1000, "asked by anna: enough"),
    facts.DiskMovesEnded(1000, "/data2 is empty"),
    facts.OfflineFixRequested((1000,), "asked by anna: the host burned"),
    facts.OfflineFixEnded((1000,), "no replica is on it any more"),
    facts.BrokersDemoteRequested((A1,), (1000,), "asked by anna: a slow disk"),
    facts.BrokersUndemoteRequested((A1,), "asked by anna: it was the fan"),
    facts.BrokerDemoted(A1, 2),
    facts.DemotionEnded(A1, "it is as fast as its peers"),
    facts.BrokerPromoted(A1),
    facts.MoveCureRequested(
        "drain-1",
        "raise_throttle",
        "ThrottleTooLow",
        ("orders-3",),
        "the throttle is raised",
        "",
        {"1003": 4},
        {"1000": 4},
    ),
    facts.BrakeArmed("drain-1", {"1000": {"produce_p99_ms": 8.5, "request_queue": 0.0}}, BEFORE),
    facts.BrakeChanged("drain-1", 0.5, "produce p99", 1000, "produce p99 of broker 1000 is 60 ms, limit 20 ms"),
    facts.ElectionCureRequested("reelect_controller", "LeadersAway", 3, "3 partitions are led elsewhere"),
    facts.ControllerElectionRequested(1001, 7, "3 partitions are led elsewhere"),
    facts.MovesAdopted(("orders-4",), "asked by anna: our own tool"),
    facts.MovesCancelRequested(("orders-4",), "asked by anna: nobody's"),
    facts.MovesSettled(("orders-4",)),
    facts.ChaosInjected("chaos-1", "kill-broker", (A1,), 60.0, "asked by anna: game day"),
    facts.ChaosEnded("chaos-1", "its time is over"),
    facts.GameStarted(
        "game-1",
        7,
        5,
        600.0,
        15.0,
        300.0,
        ("kill-broker", "pause"),
        "asked by anna: weekly",
        "person:anna",
        "user:anna",
        "session",
    ),
    facts.FaultScored("game-1", "chaos-1", 1.5, 17.2, 0.0, "brokers-a-0.g1 is down", ("Blocked/BrokerDown",)),
    facts.GameEnded("game-1", "ended by anna"),
    facts.OffsetsResetRequested(
        "reset-1", "billing", (facts.OffsetPut("orders", 0, 7, 0), facts.OffsetPut("orders", 1, None, 3)), "asked"
    ),
    facts.OffsetsReset("reset-1", "billing", {"orders-1": "it is not there (UnknownTopicOrPartitionError)"}),
    facts.VoterAddRequested(
        "change-1", "controllers-a-1", 103, "10.0.0.9", 9093, "dir-103", "3 of 3 voters keep up, it is 0 records behind"
    ),
    facts.VoterAdded("change-1", "controllers-a-1", 103, "10.0.0.9", 9093, "dir-103"),
    facts.VoterRemoveRequested("change-2", "controllers-a-0", 100, "dir-100", True, "2 of the 2 others keep up"),
    facts.VoterRemoved("change-2", "controllers-a-0", 100, "dir-100", True),
    facts.VoterChangeDropped("change-1", "nothing runs on directory dir-103 any more"),
    facts.VolumeLost(CA1, "controllers-a-0.data.v1", "dir-100", "agent", "the volume has no meta.properties"),
    facts.EvacuationRequested((A1,), "asked by anna: strange noises"),
    facts.EvacuationCompleted("drain-1", (A1,), 600, 12),
    facts.EvacuationEnded((A1,), "asked by anna: it was the fan"),
    facts.RebalanceRequested("rebalance-1", "scale-up", "broker 1003 joined", (1003,), 20.0, 1024**4),
    facts.RebalancePlanned("rebalance-1", "ab" * 32, "in-process", 12, 600, 3, 94.4, 27.8, {"replicas": [4, 0]}),
    facts.RebalancePlanFailed("rebalance-1", "broker 1003 has not told how large its disk is"),
    facts.RebalanceBatchStarted("rebalance-1", 0, 4, 200),
    facts.RebalancePutOff("rebalance-1", "3 partitions were moved meanwhile", 4, 200),
    facts.RebalanceCancelRequested("rebalance-1", "asked by anna: not now"),
    facts.RebalanceCompleted("rebalance-1", 12, 600, 27.8),
    facts.RebalanceAbandoned("rebalance-1", "asked by anna: not now", 4, 200),
    facts.QuorumStopRequested("all brokers have stopped"),
    facts.DestroyRequested("intent-5"),
    facts.DestroyCompleted("intent-6"),
    facts.ClusterDeleted(False),
    facts.ConditionChanged("Blocked", True, "MinIsrGate", "waiting. Next: kedge describe orders"),
    facts.SourceChanged(
        "git:teams", "https://git.example.com/specs.git", "main", "kafka/orders.yaml", "ab" * 20, "Ada <ada@x.org>", ""
    ),
    facts.NetworkRequested(
        "network-1-default",
        "aws",
        "production",
        "eu-west-1",
        "default",
        "10.64.0.0/20",
        {"eu-west-1a": 0},
        ("192.168.8.0/24",),
        "orders names it",
    ),
    facts.NetworkZonesRequested("network-1-default", {"eu-west-1a": 0, "eu-west-1b": 1}, "orders names eu-west-1b"),
    facts.NetworkMade("network-1-default", '{"subnets": {"eu-west-1a": "subnet-1"}}'),
    facts.NetworkChangeRequested("network-1-default", ("192.168.9.0/24",), "clients of orders"),
    facts.NetworkChanged("network-1-default", '{"subnets": {"eu-west-1a": "subnet-1"}}'),
    facts.NetworkRemovalRequested("network-1-default", "default", "moved away"),
    facts.NetworkRemovalDropped("network-1-default", "orders came to need it"),
    facts.NetworkRemoved("network-1-default"),
    facts.NetworkRunFailed("network-1-default", "QuotaExceeded", "VpcLimitExceeded", False),
    facts.SourceApplied(
        "https://git.example.com/specs.git",
        "main",
        "kafka",
        "ab" * 20,
        "Ada",
        ("orders",),
        ("kafka/bad.yaml",),
        ("old",),
    ),
    facts.SourceRewritten("ab" * 20, "cd" * 20, "cdcdcdc does not descend from abababa"),
    facts.SourceAccepted("cd" * 20, "history was cleaned"),
)


_CAS = facts.AuthoritiesMade("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----")


def _authority_change(phase: AuthorityPhase) -> AuthorityReplacementView:
    return AuthorityReplacementView("ca-1", "cluster", phase, BEFORE, "asked by anna")


def states() -> Mapping[type, ClusterView]:
    """Where each event may happen, when it is not simply a cluster at rest."""
    requested = a_view(an_instance("brokers-a-0", 2, Phase.REQUESTED), intents=_open("intent-1", "surge", A2))
    launched = a_view(an_instance("brokers-a-0", 2, Phase.LAUNCHED))
    drain = DrainView("drain-1", (A1,), (1000,), {1000: 1003}, (1001, 1002, 1003), 1, BEFORE)
    draining = a_view(_old(Phase.DRAINING), an_instance("brokers-a-0", 2), drain=drain)
    fenced_controller = an_instance("controllers-a-0", 1, Phase.FENCED)
    successor = an_instance("controllers-a-0", 2, Phase.LAUNCHED)
    rebalancing = a_view(rebalance=RebalanceView("rebalance-1", "scale-up", "broker 1003 joined", BEFORE))
    return {
        facts.ClusterAdopted: replace(a_view(), instances={}),
        facts.InstanceAdopted: changed_view(a_view(), next_broker_id=1007),
        facts.ClusterResumed: a_view(paused="lunch"),
        facts.RecycleCompleted: a_view(recycling=1, converged=0),
        facts.SurgeCompleted: requested,
        facts.RunFailed: requested,
        facts.MachineSubstituted: requested,
        facts.InstanceJoined: launched,
        facts.JoinFailed: launched,
        facts.TakeoverFailed: launched,
        facts.InstanceReconfigured: launched,
        facts.DrainPlanned: draining,
        facts.DrainPlanFailed: draining,
        facts.DrainAbandoned: draining,
        facts.BatchStarted: draining,
        facts.NodeDrained: draining,
        facts.FenceRequested: a_view(_old(Phase.LINGERING)),
        facts.NodeFenced: a_view(_old(Phase.FENCING)),
        facts.FenceReverted: a_view(_old(Phase.FENCED)),
        facts.BrokerUnregistered: a_view(_old(Phase.FENCED)),
        facts.ReleaseCompleted: a_view(fenced_controller, successor, intents=_open("intent-2", "release", CA1)),
        facts.BindRequested: a_view(successor),
        facts.BindCompleted: a_view(successor, intents=_open("intent-3", "bind", CA2)),
        facts.ProducerQuotaRestoreRequested: a_view(_old(Phase.JOINED), producer_quota=_SLOWED),
        facts.ProducerQuotaRestored: a_view(_old(Phase.JOINED), producer_quota=_SLOWED),
        facts.GrowthRequested: a_view(_old(Phase.JOINED)),
        facts.GrowthCompleted: a_view(_old(Phase.JOINED), intents=_open("intent-9", "grow", A1)),
        facts.TaggingRequested: a_view(_old(Phase.JOINED)),
        facts.TaggingCompleted: a_view(_old(Phase.JOINED), intents=_open("intent-8", "tag", A1), cost_tags=_TAGGED),
        facts.TaggingFailed: a_view(_old(Phase.JOINED), intents=_open("intent-8", "tag", A1), cost_tags=_TAGGED),
        facts.RetireRequested: a_view(_old(Phase.FENCED)),
        facts.DestroyCompleted: a_view(intents=_open("intent-6", "destroy", A1)),
        facts.RetireCompleted: a_view(_old(Phase.RETIRING), intents=_open("intent-4", "retire", A1)),
        facts.RestartCompleted: a_view(restarts={A1: _restart()}),
        facts.RestartRevertRequested: a_view(restarts={A1: _restart()}),
        facts.RestartReverted: a_view(restarts={A1: _restart()}),
        facts.OrderRenewed: a_view(restarts={A1: _restart()}, orders={A1: BEFORE}),
        facts.SettingsChanged: a_view(setting_change=_change()),
        facts.SettingsTried: a_view(setting_change=_on_canary(SettingStage.CANARY)),
        facts.SettingsCanaryStood: a_view(setting_change=_on_canary(SettingStage.WATCH)),
        facts.SettingsRevertRequested: a_view(setting_change=_on_canary(SettingStage.WATCH)),
        facts.SettingsReverted: a_view(setting_change=_on_canary(SettingStage.REVERT)),
        facts.NextAuthorityMade: a_view(
            authority_change=_authority_change(AuthorityPhase.TRUST_BOTH), authorities=_CAS
        ),
        facts.AuthorityReplaceRequested: a_view(authorities=_CAS),
        facts.AuthorityPhaseRequested: a_view(
            authority_change=_authority_change(AuthorityPhase.TRUST_BOTH), authorities=_CAS
        ),
        facts.AuthorityPhaseReached: a_view(
            authority_change=_authority_change(AuthorityPhase.REISSUE), authorities=_CAS
        ),
        facts.RollingRestartCompleted: a_view(
            rolling_restart=RollingRestartView("request-1", (A1,), (), "asked by anna", BEFORE)
        ),
        facts.EvacuationCompleted: changed_view(
            draining, drain=replace(drain, stays=True), requests=replace(draining.requests, evacuations=_evacuation())
        ),
        facts.EvacuationEnded: a_view(evacuations=_evacuation()),
        facts.RebalancePlanned: rebalancing,
        facts.RebalancePlanFailed: rebalancing,
        facts.RebalanceBatchStarted: rebalancing,
        facts.RebalancePutOff: rebalancing,
        facts.RebalanceCancelRequested: rebalancing,
        facts.RebalanceCompleted: rebalancing,
        facts.RebalanceAbandoned: rebalancing,
        facts.MoveCureRequested: draining,
        facts.MovesSettled: a_view(stuck=StuckMovesView(adopted={"orders-4": "asked by anna"})),
        facts.ChaosEnded: a_view(
            chaos={"chaos-1": ChaosView("chaos-1", "kill-broker", (A1,), "asked by anna", BEFORE, 60.0)}
        ),
        facts.FaultScored: a_view(game=_game()),
        facts.GameEnded: a_view(game=_game()),
        facts.OffsetsReset: a_view(resets={"billing": ResetView("reset-1", "billing", BEFORE, "asked by anna", 2)}),
        facts.DiskMovesCancelRequested: a_view(disk_moves={1000: DiskMovesView("/data2", "asked by anna", BEFORE)}),
        facts.DiskMovesThrottled: a_view(disk_moves={1000: DiskMovesView("/data2", "asked by anna", BEFORE, 10**6)}),
        facts.DiskMovesEnded: a_view(disk_moves={1000: DiskMovesView("/data2", "asked by anna", BEFORE)}),
        facts.OfflineFixEnded: a_view(offline={1000: OfflineFixView("asked by anna", BEFORE)}),
        facts.BrokersUndemoteRequested: a_view(demotions={A1: DemotionView(1000, "slow", BEFORE, by_person=True)}),
        facts.BrokerDemoted: a_view(demotions={A1: DemotionView(1000, "slow", BEFORE)}),
        facts.DemotionEnded: a_view(demotions={A1: DemotionView(1000, "slow", BEFORE)}),
        facts.BrokerPromoted: a_view(demotions={A1: DemotionView(1000, "slow", BEFORE, ended="fast again")}),
        facts.VoterAdded: a_view(voter_change=_vote("change-1", adds=True)),
        facts.VoterRemoved: a_view(voter_change=_vote("change-2", adds=False)),
        facts.VoterChangeDropped: a_view(voter_change=_vote("change-1", adds=True)),
        **topic_states(),
        **user_states(),
        **external_states(),
        facts.ProtocolRaised: a_view(protocol="3.8"),
        **migration_states(),
        facts.SecurityStepRequested: a_view(security=BORN_PLAIN),
        facts.SecurityStepCompleted: a_view(security=SecurityView(0, 1, 1, BEFORE)),
        facts.AgentUpgraded: a_view(agent_orders=_agent_order()),
        facts.AgentUpgradeFailed: a_view(agent_orders=_agent_order()),
        facts.FeatureFinalised: changed_view(a_view(), finalising=("metadata.version", 29)),
    }


def _agent_order() -> Mapping[str, AgentOrderView]:
    asked = facts.AgentUpgradeRequested("0.2.0-7", A1, "0.2.0", "cHVibGlj", (AGENT_BUILT,), {"broker": 4711})
    return {A1: AgentOrderView(asked, BEFORE)}


def _evacuation() -> Mapping[str, EvacuationView]:
    return {A1: EvacuationView("asked by anna", BEFORE)}


def _restart() -> RestartView:
    return RestartView(A1, 1, BEFORE, canary=True, before=Before({}, {}))


def _on_canary(stage: SettingStage) -> SettingChangeView:
    return replace(_change(), canary=1000, tried=(1000,), stage=stage, since=BEFORE)


def _change() -> SettingChangeView:
    values: Mapping[str, str | None] = {"num.io.threads": "16"}
    return SettingChangeView("change-1", 1, {"num.io.threads": "16"}, values, values, BEFORE)


def _old(phase: Phase) -> InstanceView:
    return an_instance("brokers-a-0", 1, phase)


def _open(intent: str, kind: str, key: str) -> Mapping[str, IntentView]:
    return {intent: IntentView(intent, kind, (key,), BEFORE)}


def _vote(change: str, *, adds: bool) -> VoterChangeView:
    voter = facts.FoundingVoter("controllers-a-0", 100, "10.0.0.9", 9093, "dir-100")
    return VoterChangeView(change, adds, voter, not adds, "3 of 3 voters keep up", BEFORE)


def _game() -> GameView:
    who = ("person:anna", "user:anna", "session")
    asked = facts.GameStarted("game-1", 7, 5, 600.0, 15.0, 300.0, ("kill-broker",), "asked by anna", *who)
    return GameView(asked, BEFORE, (PlayedView("chaos-1", "kill-broker", A1, BEFORE),))
