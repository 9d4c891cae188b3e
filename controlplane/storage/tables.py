"""Tables of the control plane beside the event log. None of them is the truth: each can be rebuilt, or may be lost."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Index, LargeBinary, String
from sqlmodel import Field, SQLModel

from events.tables import UtcDateTime, table_of


def _time(*, nullable: bool = False) -> Column[datetime]:
    return Column(UtcDateTime, nullable=nullable)


class LeaseRow(SQLModel, table=True):
    """Who holds a duty, by database time. `epoch` goes up with each change of owner and is never reset."""

    __tablename__ = "lease"

    duty: str = Field(primary_key=True)
    owner: str
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    term_s: float
    renewed_at: datetime = Field(sa_column=_time())
    acts_after: datetime = Field(sa_column=_time())
    released: bool = False


class HomeRow(SQLModel, table=True):
    """The homes whose servers work on this database. `name` is `home` for the first one, the home's id for others."""

    __tablename__ = "home"

    name: str = Field(primary_key=True)
    home_id: str
    installation_id: str
    host: str
    path: str
    claimed_at: datetime = Field(sa_column=_time())
    terraform_state: str | None = None
    """Where Terraform's states are, in the first home's row: `local` (also when empty) or `http`."""
    keys_print: str | None = None
    """Stands for the home's `server-key`, which is never stored; `agent_url` is what its servers tell VMs."""
    agent_url: str | None = None


class JobRow(SQLModel, table=True):
    """A long act that was started for an intent: a Terraform run, a plan computation."""

    __tablename__ = "job"
    __table_args__ = (Index("ix_job_cluster_uid", "cluster_uid"), Index("ix_job_state", "state"))

    intent_id: str = Field(primary_key=True)
    cluster_uid: str
    kind: str
    state: str
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    owner: str
    created_at: datetime = Field(sa_column=_time())
    heartbeat_at: datetime = Field(sa_column=_time())
    started_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    ended_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    result: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))
    error_class: str | None = None
    error_message: str | None = None


class PlanBlobRow(SQLModel, table=True):
    """A plan at rest under the hash of its bytes. Lost or corrupt: plan again."""

    __tablename__ = "plan_blob"

    sha256: str = Field(primary_key=True)
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: datetime = Field(sa_column=_time())


class LatestRow(SQLModel, table=True):
    """The newest observation of one kind about one subject. `past_boots` are the boot ids that later ones replaced."""

    __tablename__ = "latest"
    __table_args__ = (Index("ix_latest_cluster_uid", "cluster_uid"),)

    kind: str = Field(primary_key=True)
    cluster_uid: str = Field(primary_key=True)
    subject: str = Field(primary_key=True)
    value: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    source: str
    observed_at: datetime = Field(sa_column=_time())
    boot_id: str | None = None
    seq: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    past_boots: list[str] = Field(sa_column=Column(JSON, nullable=False))


class TopicPlacementRow(SQLModel, table=True):
    """Where the partitions of one topic are; `sha256` is that of what is packed. Observed: it may be lost."""

    __tablename__ = "topic_placement"

    cluster_uid: str = Field(primary_key=True)
    topic: str = Field(primary_key=True)
    sha256: str
    packed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    changed_at: datetime = Field(sa_column=_time())


class AgentCredentialRow(SQLModel, table=True):
    """The credential one VM's agent made for itself, by its hash. The first one enrolled for a VM is the only one.

    Its agent alone rotates it: `next_sha256` counts as well, and takes the place of the one in force when it is shown.
    """

    __tablename__ = "agent_credential"

    cluster_uid: str = Field(primary_key=True)
    node: str = Field(primary_key=True)
    generation: int = Field(primary_key=True)
    credential_sha256: str
    intent_id: str
    enrolled_at: datetime = Field(sa_column=_time())
    next_sha256: str | None = None
    earlier_sha256: str | None = None
    rotated_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    outdated_shown_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    certified_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class ClusterAuthorityRow(SQLModel, table=True):
    """A CA of a cluster: `kind` is `cluster`, which signs its nodes, or `clients`. The key is sealed."""

    __tablename__ = "cluster_authority"

    cluster_uid: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    certificate: str
    sealed_key: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    made_at: datetime = Field(sa_column=_time())


class UserPasswordRow(SQLModel, table=True):
    """A password of a user that Kafka is to be given, or that nobody has collected yet. It is sealed."""

    __tablename__ = "user_password"

    cluster_uid: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    user_name: str
    sealed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    made_at: datetime = Field(sa_column=_time())


class TerraformStateRow(SQLModel, table=True):
    """One version of the Terraform state of a cluster in a place (`<cloud>.<account>.<region>`)."""

    __tablename__ = "terraform_state"

    cluster_uid: str = Field(primary_key=True)
    place: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    serial: int = Field(sa_column=Column(BigInteger, nullable=False))
    lineage: str
    size: int = Field(sa_column=Column(BigInteger, nullable=False))
    sha256: str
    run_id: str
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    written_at: datetime = Field(sa_column=_time())
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class TerraformLockRow(SQLModel, table=True):
    """Who holds such a state. Without a `hold_id` nobody does; `epoch` stays, and refuses earlier ones."""

    __tablename__ = "terraform_lock"

    cluster_uid: str = Field(primary_key=True)
    place: str = Field(primary_key=True)
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    hold_id: str | None = None
    run_id: str
    owner: str
    machine: str
    pid: int
    start_ticks: int = Field(sa_column=Column(BigInteger, nullable=False))
    lease_s: float
    taken_at: datetime = Field(sa_column=_time())
    renewed_at: datetime = Field(sa_column=_time())
    lock_info: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))


class TerraformProvidersRow(SQLModel, table=True):
    """Terraform's lock file for one set of pinned providers: the checksums of those that were chosen first."""

    __tablename__ = "terraform_providers"

    pins: str = Field(primary_key=True)
    sha256: str
    chosen_at: datetime = Field(sa_column=_time())
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class PortalUserRow(SQLModel, table=True):
    """A person who signs in with a password; only its Argon2id hash is kept."""

    __tablename__ = "portal_user"

    name: str = Field(primary_key=True)
    password_hash: str
    must_change: bool
    made_at: datetime = Field(sa_column=_time())
    disabled_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class RoleBindingRow(SQLModel, table=True):
    """`user:NAME`, `oidc:NAME` or `group:NAME` has a role on `*`, `team:NAME`, `label:KEY=VALUE` or `cluster:NAME`."""

    __tablename__ = "role_binding"

    subject: str = Field(primary_key=True)
    role: str = Field(primary_key=True)
    scope: str = Field(primary_key=True)


class PortalSessionRow(SQLModel, table=True):
    """A session of the portal under the SHA-256 of its cookie."""

    __tablename__ = "portal_session"
    __table_args__ = (Index("ix_portal_session_user_name", "user_name"),)

    key: str = Field(primary_key=True)
    user_name: str
    csrf: str
    began_at: datetime = Field(sa_column=_time())
    seen_at: datetime = Field(sa_column=_time())
    ends_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class OidcPersonRow(SQLModel, table=True):
    """A person an OIDC provider let in. `sub` is who they are there, `groups` what it said at the last sign-in."""

    __tablename__ = "oidc_person"

    name: str = Field(primary_key=True)
    sub: str
    groups: list[str] = Field(sa_column=Column(JSON, nullable=False))
    made_at: datetime = Field(sa_column=_time())
    signed_in_at: datetime = Field(sa_column=_time())
    disabled_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class OidcAttemptRow(SQLModel, table=True):
    """A sign-in at the provider that came back: its state is taken once."""

    __tablename__ = "oidc_attempt"

    state_sha256: str = Field(primary_key=True)
    ended_at: datetime = Field(sa_column=_time())


class ApiTokenRow(SQLModel, table=True):
    """A token of a person's programs; of its secret the SHA-256 is kept."""

    __tablename__ = "api_token"
    __table_args__ = (Index("ix_api_token_maker", "maker"),)

    id: str = Field(primary_key=True)
    secret_sha256: str
    label: str
    maker: str
    role: str
    scope: str
    made_at: datetime = Field(sa_column=_time())
    expires_at: datetime = Field(sa_column=_time())
    used_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    used_from: str = ""
    revoked_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class CallKeyRow(SQLModel, table=True):
    """An `Idempotency-Key` of a caller, by its hash, with that of the request it came with."""

    __tablename__ = "call_key"
    __table_args__ = (Index("ix_call_key_at", "at"),)

    id: str = Field(primary_key=True)
    request: str
    at: datetime = Field(sa_column=_time())
    status: int | None = None


class AuditEntryRow(SQLModel, table=True):
    """One call that changed something or was denied. `sha256` covers the row and `previous`, that of the row before."""

    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_at", "at"), Index("ix_audit_entry_request", "request"))

    position: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    at: datetime = Field(sa_column=_time())
    who: str
    via: str
    client: str
    call: str
    verb: str
    object: str
    outcome: str
    status: int
    event_position: int | None = Field(default=None, sa_column=Column(BigInteger, nullable=True))
    note: str
    request: str = Field(default="", sa_column=Column(String, nullable=False, server_default=""))
    previous: str
    sha256: str


class NoticeOutboxRow(SQLModel, table=True):
    """A notice that waits to be told by a notifier; `position` is that of the event behind it."""

    __tablename__ = "notice_outbox"

    notifier: str = Field(primary_key=True)
    position: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    notice: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    attempts: int
    again_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


class NotifierStateRow(SQLModel, table=True):
    """How far a notifier has read the events, and how it does."""

    __tablename__ = "notifier_state"

    name: str = Field(primary_key=True)
    position: int = Field(sa_column=Column(BigInteger, nullable=False))
    delivered: int = Field(sa_column=Column(BigInteger, nullable=False))
    dropped: int = Field(sa_column=Column(BigInteger, nullable=False))
    error: str
    failing_since: datetime | None = Field(default=None, sa_column=_time(nullable=True))
    told_at: datetime | None = Field(default=None, sa_column=_time(nullable=True))


LEASE = table_of(LeaseRow)
HOME = table_of(HomeRow)
JOB = table_of(JobRow)
PLAN_BLOB = table_of(PlanBlobRow)
LATEST = table_of(LatestRow)
TOPIC_PLACEMENT = table_of(TopicPlacementRow)
AGENT_CREDENTIAL = table_of(AgentCredentialRow)
CLUSTER_AUTHORITY = table_of(ClusterAuthorityRow)
USER_PASSWORD = table_of(UserPasswordRow)
TERRAFORM_STATE = table_of(TerraformStateRow)
TERRAFORM_LOCK = table_of(TerraformLockRow)
TERRAFORM_PROVIDERS = table_of(TerraformProvidersRow)
PORTAL_USER = table_of(PortalUserRow)
ROLE_BINDING = table_of(RoleBindingRow)
PORTAL_SESSION = table_of(PortalSessionRow)
OIDC_PERSON = table_of(OidcPersonRow)
OIDC_ATTEMPT = table_of(OidcAttemptRow)
API_TOKEN = table_of(ApiTokenRow)
CALL_KEY = table_of(CallKeyRow)
AUDIT_ENTRY = table_of(AuditEntryRow)
NOTICE_OUTBOX = table_of(NoticeOutboxRow)
NOTIFIER_STATE = table_of(NotifierStateRow)
