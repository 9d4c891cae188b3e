"""What a portal's role may do in PostgreSQL, row by row where tables are shared with the loop: it adds the events that
people ask for and no other, and writes the latest values that are its own to tell.
`controlplane.server.database_roles` grants it.
"""

from collections.abc import Mapping

from controlplane.cluster.observed.cloud_drift import AUDIT_ASKED
from controlplane.cluster.observed.consumer_groups import GROUPS, GROUPS_NOTED, LAGS
from events import facts, failover_facts, proposal_facts, topic_facts, user_facts
from events.registry import REGISTRY

ASKED = "portal-asked"
"""Kind of the rows in which portals ask the loop for a look: `source NAME` and `doctor CLOUD`."""

ASKED_BY_PEOPLE = (
    *(facts.NameTaken, facts.ClusterDeclared, facts.ClusterDeletionRequested),
    *(facts.ClusterPaused, facts.ClusterResumed),
    *(facts.RecycleAborted, facts.SourceChanged, facts.SourceAccepted, facts.WindowWaived, facts.HealingSwitched),
    facts.LossesConfirmed,
    *(facts.RollingRestartRequested, facts.NodeReplaceRequested, facts.EvacuationRequested, facts.EvacuationEnded),
    *(facts.AuthorityReplaceRequested, facts.AuthorityPhaseRequested, facts.CertificatesRevoked),
    *(facts.BrokersDemoteRequested, facts.BrokersUndemoteRequested, facts.OfflineFixRequested),
    *(facts.DiskMovesRequested, facts.DiskMovesCancelRequested),
    *(facts.RebalanceRequested, facts.RebalanceCancelRequested, facts.MovesCancelRequested, facts.MovesAdopted),
    *(
        topic_facts.TopicsDeclared,
        topic_facts.TopicsAdopted,
        topic_facts.TopicDeletionRequested,
        topic_facts.TopicsUndeclared,
        topic_facts.ReplicationFactorRequested,
        topic_facts.ReplicationFactorEnded,
    ),
    *(
        user_facts.UsersDeclared,
        user_facts.UsersUndeclared,
        user_facts.UserPasswordRequested,
        user_facts.UserDeletionRequested,
        user_facts.UserReleased,
    ),
    *(facts.OffsetsResetRequested, facts.OffsetsReset, facts.GameStarted, facts.GameEnded),
    *(facts.FreezeDeclared, facts.FreezeThawed, facts.ImagePublished, facts.ImageWithdrawn),
    *(facts.AgentRolloutResumed, facts.AgentWithdrawn),
    *(facts.NetworkRemovalRequested, facts.NetworkZonesRequested),
    *(
        proposal_facts.ProposalMade,
        proposal_facts.ProposalApproved,
        proposal_facts.ProposalRejected,
        proposal_facts.ProposalVoided,
    ),
    proposal_facts.ProposalExecuted,
    *(failover_facts.PairRegistered, failover_facts.FailoverDeclared, failover_facts.PairSpecChanged),
    failover_facts.PairWithdrawn,
    *(failover_facts.FailoverRequested, failover_facts.FailoverAbortRequested, failover_facts.DoorClosed),
)
"""Declarations, wishes and decisions of people; their word that a door is shut is an outcome. No intent and no other
outcome of the loop is among them, no fault brought about on purpose and no agent published: those need the loop's own
hands and keys."""

EVENTS = tuple(sorted(entry.name for entry in REGISTRY if entry.cls in ASKED_BY_PEOPLE))
LATEST = tuple(sorted((ASKED, AUDIT_ASKED, GROUPS, GROUPS_NOTED, LAGS)))
"""Kinds of the latest values a portal writes: what it asks for, and what it saw of consumer groups."""

_ADD, _LOOK, _KEEP = "SELECT, INSERT", "SELECT", "SELECT, INSERT, UPDATE"
_ALL = "SELECT, INSERT, UPDATE, DELETE"

PORTAL_RIGHTS: Mapping[str, str] = {
    **dict.fromkeys(("event", "audit_entry"), _ADD),
    "counter": "SELECT, UPDATE",
    **dict.fromkeys(("latest", "api_token"), _KEEP),
    **dict.fromkeys(("alembic_version", "home", "job", "topic_placement"), _LOOK),
    **dict.fromkeys(("notice_outbox", "notifier_state"), _LOOK),
    **dict.fromkeys(("portal_user", "role_binding", "portal_session", "oidc_person", "oidc_attempt", "call_key"), _ALL),
}
"""By table. Those that are not named are closed to it: leases, Terraform's states and locks, plans at rest."""

CREDENTIAL_COLUMNS = (
    *("cluster_uid", "node", "generation", "intent_id"),
    *("enrolled_at", "rotated_at", "outdated_shown_at", "certified_at"),
)
"""Of the table `agent_credential`: what a portal's role may read."""
