"""Quotas of clients, in Kafka's own terms: of users, of client ids, of a user with one client id, and their defaults.

Of several that fit a connection Kafka takes one, the narrowest: user with client id, user with any client id, user,
default user with client id, default user with any, default user, client id, default client id (`ClientQuotaManager`).
"""

from typing import ClassVar

from events.spec.fields import FieldClass, Part, classed
from events.spec.housekeeping import TierName
from events.spec.scalars import OneLine, Whole

DYNAMIC = FieldClass.DYNAMIC

MOST_CLIENTS = 200


class QuotaRates(Part):
    """How much of each broker one may take. What is not given is as the next wider quota says."""

    producer_byte_rate: Whole | None = classed(
        DYNAMIC, "Bytes per second it may write to each broker.", default=None, ge=1
    )
    consumer_byte_rate: Whole | None = classed(
        DYNAMIC, "Bytes per second it may read from each broker.", default=None, ge=1
    )
    request_percentage: Whole | None = classed(
        DYNAMIC,
        "Share of the time of a broker's request and network threads, in percent of one thread.",
        default=None,
        ge=1,
    )
    controller_mutation_rate: Whole | None = classed(
        DYNAMIC, "Partitions per second it may have made or deleted.", default=None, ge=1
    )


class ClientRates(QuotaRates):
    """Those of one client id."""

    key_field: ClassVar[str | None] = "client_id"

    client_id: OneLine = classed(DYNAMIC, "The client's own name for itself, `client.id`. Nothing proves it.")


class UserQuotas(QuotaRates):
    """How much of each broker the user may take. What is not given is as the cluster's defaults say."""

    default_client_id: QuotaRates | None = classed(
        DYNAMIC, "What each client id of the user may take that is not in `byClientId`.", default=None
    )
    by_client_id: tuple[ClientRates, ...] = classed(
        DYNAMIC,
        "What the user may take by one client id, instead of what it may take in all.",
        default=(),
        max_length=MOST_CLIENTS,
    )


class ClusterQuotas(Part):
    """Quotas of whoever has none of their own, and of client ids whoever uses them. What is declared here is Kedge's:
    set as said, put right, and taken away with its declaration. Others in Kafka are left alone."""

    default_user: UserQuotas | None = classed(
        DYNAMIC,
        "What each user may take that has no quotas of its own. Where nobody is asked, as in a cluster in plaintext, "
        "everybody is one user, `ANONYMOUS`.",
        default=None,
    )
    default_client_id: QuotaRates | None = classed(
        DYNAMIC, "What each client id may take that is not in `clientIds`, where no quota of users fits.", default=None
    )
    client_ids: tuple[ClientRates, ...] = classed(
        DYNAMIC,
        "What single client ids may take, whoever uses them, where no quota of users fits.",
        default=(),
        max_length=MOST_CLIENTS,
    )
    tiers: dict[TierName, QuotaRates] = classed(
        DYNAMIC,
        "By `tier` of a KafkaUser: what each of its users may take where its document says nothing itself.",
        default_factory=dict,
    )
