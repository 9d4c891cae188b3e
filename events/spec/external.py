"""What of a cluster is not Kedge's: brokers and controllers that others made, run and stop.

Kedge reads them through Kafka alone. There is no VM, no agent and no Terraform for them: nothing in this section can
become a run, a stop or a deletion.
"""

from typing import ClassVar, Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.scalars import ClusterId, DnsLabel, ForeignListener, KafkaUuid, OneLine, PeerName, Whole

HIGHEST_ID = 2**31 - 1


class ExternalBroker(Part):
    """A broker that others run."""

    key_field: ClassVar[str | None] = "id"

    id: Whole = classed(FieldClass.IDENTITY, "Its broker id.", ge=0, le=HIGHEST_ID)
    rack: OneLine = classed(FieldClass.BEHAVIOURAL, "Its rack, as it told Kafka; empty for none.", default="")
    host: PeerName = classed(FieldClass.BEHAVIOURAL, "Where it is reached: what it advertises.")
    port: Whole = classed(FieldClass.BEHAVIOURAL, "TCP port.", default=9092, ge=1, le=65535)


class ExternalController(Part):
    """A voter of the quorum that others run."""

    key_field: ClassVar[str | None] = "id"

    id: Whole = classed(FieldClass.IDENTITY, "Its node id.", ge=0, le=HIGHEST_ID)
    directory_id: KafkaUuid | None = classed(
        FieldClass.BEHAVIOURAL, "Id of its metadata directory, where Kafka tells it.", default=None
    )
    host: PeerName = classed(FieldClass.BEHAVIOURAL, "Where brokers of Kedge's reach it.")
    port: Whole = classed(FieldClass.BEHAVIOURAL, "TCP port.", default=9093, ge=1, le=65535)


class External(Part):
    """The part of a cluster that others run."""

    cluster_id: ClusterId = classed(
        FieldClass.IDENTITY, "Kafka's id of the cluster, as Kafka tells it. Another cluster is never touched."
    )
    listener: ForeignListener = classed(
        FieldClass.BEHAVIOURAL,
        "Name of the listener its brokers speak to one another at, in any case, as Kafka reads it. Pools join only "
        "where it is in plaintext, and called `PLAINTEXT`.",
        default="PLAINTEXT",
    )
    controllers: tuple[ExternalController, ...] = classed(
        FieldClass.BEHAVIOURAL,
        "Its quorum, which stays with whoever runs it: new brokers of Kedge's are told these addresses.",
        min_length=1,
        max_length=15,
    )
    client_properties: DnsLabel | None = classed(
        FieldClass.BEHAVIOURAL,
        "Name of the client properties by which its brokers are spoken to (TLS, SASL): the server's settings say which "
        "file on its machine that is. Such a cluster is watched; no pool joins it.",
        default=None,
    )
    quorum: Literal["as-found", "dynamic"] = classed(
        FieldClass.BEHAVIOURAL,
        "`dynamic`: Kedge raises `kraft.version` of a static quorum to 1 once all of it is whole, from Kafka 4.1 on. "
        "Kafka has no way back from that. `as-found`: left as it is.",
        default="as-found",
    )
    brokers: tuple[ExternalBroker, ...] = classed(
        FieldClass.BEHAVIOURAL,
        "Its brokers. One that leaves the list is emptied onto the pools, and stopped by nobody but its owner.",
        default=(),
        max_length=1000,
    )
