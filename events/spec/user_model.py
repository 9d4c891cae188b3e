"""The `KafkaUser` document: who may do what in a cluster, as frozen values. Judged by `events.spec.user_rules`.

A user is the principal `User:NAME`, whichever way it proves itself. Its document holds no password, key or hash: Kedge
makes passwords, and signs keys that others made.
"""

from typing import Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.housekeeping import TierName
from events.spec.model import API_VERSION
from events.spec.quotas import UserQuotas
from events.spec.scalars import CloudWord, DnsLabel, Flag, OneLine, UserName

USER_KIND = "KafkaUser"

DYNAMIC, BEHAVIOURAL, IDENTITY = FieldClass.DYNAMIC, FieldClass.BEHAVIOURAL, FieldClass.IDENTITY

UserAuthenticationType = Literal["scram-sha-512", "tls", "oauth", "none"]
EarlierCertificates = Literal["refuse", "accept"]
ResourceType = Literal["topic", "group", "transactional-id", "cluster", "delegation-token"]
PatternType = Literal["literal", "prefix"]
Operation = Literal[
    "All",
    "Read",
    "Write",
    "Create",
    "Delete",
    "Alter",
    "Describe",
    "ClusterAction",
    "DescribeConfigs",
    "AlterConfigs",
    "IdempotentWrite",
    "TwoPhaseCommit",
]

THE_CLUSTER = "kafka-cluster"
"""The one name a resource of type `cluster` has (`Resource.CLUSTER_NAME`)."""

MOST_ACLS = 200


class UserMetadata(Part):
    """Who it is, and whose."""

    name: UserName = classed(IDENTITY, "Name of the user: its principal in Kafka is `User:NAME`.")
    owner: OneLine = classed(BEHAVIOURAL, "Team or person to ask. Shown, never interpreted.", default="")
    labels: dict[CloudWord, OneLine] = classed(BEHAVIOURAL, "Labels for people and searches.", default_factory=dict)


class UserAuthentication(Part):
    """How the user proves who it is."""

    type: UserAuthenticationType = classed(
        IDENTITY,
        "`scram-sha-512`: by a password that Kedge makes, and gives out once. `tls`: by a certificate of the cluster's "
        "clients CA. `oauth`: by a token that names it, of the provider a listener believes. `none`: Kedge makes no "
        "credential, only rights and quotas, for principals that others let in.",
    )
    deliver_to: DnsLabel | None = classed(
        BEHAVIOURAL,
        "Sink of the server's settings (`[kafka.password_sinks]`) that its password is written to once Kafka has it, "
        "and each later one. Without a word a person collects it.",
        default=None,
    )
    earlier_certificates: EarlierCertificates = classed(
        BEHAVIOURAL,
        "What of a deleted user of this name had certificates that have not ended: Kafka asks no revocation list, and "
        "lets in whoever has one. `refuse`: the name is not given out until then. `accept`: it is, and they get in.",
        default="refuse",
    )


class AclResource(Part):
    """What a right is about."""

    type: ResourceType = classed(DYNAMIC, "Kind of resource.")
    name: OneLine = classed(
        DYNAMIC, f"Its name, or with `patternType: prefix` how it begins; `*` for all. A cluster's is `{THE_CLUSTER}`."
    )
    pattern_type: PatternType = classed(
        DYNAMIC, "`literal`: that very name. `prefix`: every name that begins so.", default="literal"
    )


class Acl(Part):
    """Rights to one resource. They allow; nothing is forbidden by a document."""

    resource: AclResource = classed(DYNAMIC, "What they are about.")
    operations: tuple[Operation, ...] = classed(
        DYNAMIC, "What is allowed, in Kafka's words.", min_length=1, max_length=12
    )
    host: OneLine = classed(DYNAMIC, "Where from: one IP address, or `*` for anywhere.", default="*")


class UserAuthorization(Part):
    """What the user may do. Kafka lets it do nothing else."""

    acls: tuple[Acl, ...] = classed(
        DYNAMIC,
        "All of its rights: others that Kafka has of this user are taken away. Only in clusters with an authorizer.",
        default=(),
        max_length=MOST_ACLS,
    )
    administrator: Flag = classed(
        BEHAVIOURAL,
        "It may have rights by which it can give itself every other one: `All`, `Alter`, `AlterConfigs` and "
        "`ClusterAction` on the cluster.",
        default=False,
    )


class UserSpec(Part):
    """What the user should be."""

    cluster: DnsLabel = classed(IDENTITY, "Name of the cluster it is a user of.")
    authentication: UserAuthentication = classed(IDENTITY, "How it proves who it is.")
    authorization: UserAuthorization = classed(DYNAMIC, "What it may do.", default_factory=UserAuthorization)
    tier: TierName | None = classed(
        DYNAMIC,
        "Quotas it does not give are those of this tier, in `spec.quotas.tiers` of its cluster. Without a word it has "
        "none, and the cluster's defaults count.",
        default=None,
    )
    quotas: UserQuotas = classed(DYNAMIC, "How much it may take.", default_factory=UserQuotas)


class KafkaUserDocument(Part):
    """One document of a spec file, in the storage version."""

    api_version: Literal["kedge/v1alpha1"] = classed(
        BEHAVIOURAL, "Version of this format. Older ones are converted when they are read.", default=API_VERSION
    )
    kind: Literal["KafkaUser"] = classed(IDENTITY, "Always `KafkaUser`.", default=USER_KIND)
    metadata: UserMetadata = classed(IDENTITY, "Who it is, and whose.")
    spec: UserSpec = classed(BEHAVIOURAL, "What the user should be.")

    @property
    def user(self) -> str:
        """The name of the user; its principal is `User:` and this."""
        return self.metadata.name
