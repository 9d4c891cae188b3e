"""The `KafkaCluster` document: what people ask for, as frozen values.

The model judges the shape of each field alone. What is *acceptable* (rules across fields, Kafka versions, properties
Kedge owns) is judged by `events.spec.rules` when a spec comes in: such rules become stricter over time, and a document
that was accepted once must stay readable for as long as its event exists.
"""

from typing import ClassVar, Literal

from events.spec import scalars
from events.spec.clients import Access, Bootstrap
from events.spec.distribution import Distribution
from events.spec.external import External
from events.spec.fields import FieldClass, Part, classed
from events.spec.health import Health
from events.spec.housekeeping import Balance, Healing
from events.spec.machine_figures import MachineFigures
from events.spec.network import NetworkSpec
from events.spec.presets import PresetName
from events.spec.quotas import ClusterQuotas
from events.spec.rollout import RolloutPolicy
from events.spec.security import Authorization, Listener, Security

API_VERSION = "kedge/v1alpha1"
KIND = "KafkaCluster"

STATIC, RESTART, DYNAMIC = FieldClass.STATIC, FieldClass.RESTART, FieldClass.DYNAMIC
BEHAVIOURAL, IDENTITY = FieldClass.BEHAVIOURAL, FieldClass.IDENTITY

ServiceKind = Literal["broker", "controller", "zookeeper"]
MetadataMode = Literal["kraft", "zookeeper"]
LogLevel = Literal["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"]


class Metadata(Part):
    """Who the cluster is."""

    name: scalars.DnsLabel = classed(IDENTITY, "Name of the cluster, unique among the living ones.")
    owner: scalars.OneLine = classed(BEHAVIOURAL, "Team or person to ask. Shown, never interpreted.", default="")
    labels: dict[scalars.CloudWord, scalars.OneLine] = classed(
        BEHAVIOURAL,
        "Labels for people and searches. Those that `clouds.cost_tags` of the server's settings names are put as tags "
        "on what is made in clouds, and changed there in place.",
        default_factory=dict,
    )


class ImagePolicy(Part):
    """Which revision of the image catalogue VMs are made from (`kedge images`)."""

    follow: Literal["none", "security", "all"] = classed(
        BEHAVIOURAL,
        "Which published revisions of the Kafka version the cluster rolls to by itself: `none`, those flagged "
        "`security`, or `all`. With `none` VMs keep the revision the cluster has, else the image the cloud's settings "
        "name. The field rolls nothing; the revision it leads to does.",
        default="none",
    )
    pin: scalars.Whole | None = classed(
        BEHAVIOURAL,
        "Number of the one revision to be on, as in `3`, whatever is followed and in whatever order the fleet rolls. "
        "It is that of `version`: a pin rarely outlives a change of it.",
        default=None,
        ge=1,
        le=100_000,
    )
    critical: Literal["waits", "at-once"] = classed(
        BEHAVIOURAL,
        "`at-once`: a roll to a revision flagged `critical` begins outside windows and in freezes, too. `waits`: it "
        "waits for its window like any other.",
        default="waits",
    )

    @property
    def is_idle(self) -> bool:
        """Whether nothing published concerns the cluster."""
        return self.follow == "none" and self.pin is None


class KafkaSection(Part):
    """Which Kafka runs, and how it is set."""

    version: scalars.KafkaRelease = classed(
        STATIC,
        "Kafka version of brokers and controllers: any patch release of a supported line. A change rolls every VM; "
        "from one patch release to another no feature level is raised.",
    )
    distribution: Distribution | None = classed(
        STATIC,
        "A build of that version of one's own, which VMs fetch in place of the archive of the cloud's settings. Given "
        "or taken away it rolls every VM.",
        default=None,
    )
    config: dict[scalars.PropertyKey, scalars.PropertyText] = classed(
        RESTART,
        "Kafka properties, as in `server.properties`, for brokers and controllers alike. A property that Kafka can "
        "change live is dynamic, every other one restarts; `docs/settings.md` has the class of each. "
        "Values are taken as the very characters of the file.",
        default_factory=dict,
        item_class="kafka-property",
    )
    adopt: tuple[scalars.PropertyKey, ...] = classed(
        BEHAVIOURAL,
        "Names of properties in `config`, or in that of a pool, that people or tools may change on running brokers: "
        "another value is told (condition `SettingsAdopted`) and left. A new value in the spec is set all the same. "
        "Others are put right.",
        default=(),
        max_length=50,
    )
    metadata_version: scalars.MetadataLevel | None = classed(
        DYNAMIC,
        "Pins the metadata level, as in `4.1`, to keep the way back to that version open. "
        "Without it the level follows the version once all nodes run it and `rollout.soak` is over. "
        "In mode `zookeeper` it pins `inter.broker.protocol.version`, as in `3.8`.",
        default=None,
    )
    image: ImagePolicy = classed(
        BEHAVIOURAL,
        "Which revision of the image catalogue VMs are made from, and which new ones the cluster rolls to.",
        default_factory=ImagePolicy,
    )
    mode: MetadataMode = classed(
        IDENTITY,
        "Where the cluster keeps its metadata: `kraft` (Kafka 4), or `zookeeper` (Kafka 3.8 and 3.9, which need a pool "
        "of ZooKeeper servers).",
        default="kraft",
    )


class DiskGrowth(Part):
    """When Kedge makes the disks of a pool larger by itself, and how large at most."""

    above: scalars.Whole = classed(
        BEHAVIOURAL,
        "Percent of a disk that is full. Once one of a broker is fuller, all disks of the pool grow, in place.",
        default=80,
        ge=30,
        le=95,
    )
    to: scalars.Whole = classed(
        BEHAVIOURAL, "GiB that each disk may grow to. It is never made larger than that.", ge=1, le=65536
    )


class Disk(Part):
    """The data disks of each instance of a pool, all of one kind and size."""

    kind: Literal["persistent", "ephemeral"] = classed(
        STATIC,
        "`persistent` outlives its VM; `ephemeral` is gone with it. Controllers and ZooKeeper servers "
        "need `persistent`.",
    )
    size_gib: scalars.Whole = classed(
        STATIC,
        "Size in GiB. A larger persistent disk grows where it is, on clouds that can; otherwise, and for a smaller "
        "one, brokers move to new VMs. Those of controllers and ZooKeeper servers only grow, in place. What `grow` has "
        "made of it is the size from then on, and this the least.",
        ge=1,
        le=65536,
    )
    grow: DiskGrowth | None = classed(
        BEHAVIOURAL,
        "Make the persistent disks of brokers larger where they are, before they are full. Without it only a larger "
        "`sizeGib` does.",
        default=None,
    )
    protect: Literal["tell", "quota"] = classed(
        BEHAVIOURAL,
        "When a broker's disk is fuller than `protectAbove` and does not grow: `tell` (`DiskNearlyFull`), or set a low "
        "default `quota` of users' producers on the cluster too, until there is room again.",
        default="tell",
    )
    protect_above: scalars.Whole = classed(
        BEHAVIOURAL,
        "Percent of a disk from which it counts as nearly full.",
        default=95,
        ge=50,
        le=99,
    )
    count: scalars.Whole = classed(
        STATIC,
        "Number of such disks, each with a log directory of its own: Kafka's JBOD, for brokers. "
        "A broker has the sum of their sizes, and a partition fits on one of them. Another number moves brokers to new "
        "VMs.",
        default=1,
        ge=1,
        le=8,
    )

    type: scalars.CloudWord | None = classed(
        STATIC,
        "Kind of volume in the cloud's own words, as in `gp3`, `hyperdisk-balanced`, `PremiumV2_LRS`, `maxiops` "
        "(docs/storage.md has those of each cloud). Another one moves brokers to new VMs with new disks.",
        default=None,
    )
    iops: scalars.Whole | None = classed(
        STATIC,
        "Operations a second that each disk is to have, where its type takes a number. Another one moves brokers to "
        "new VMs with new disks.",
        default=None,
        ge=1,
        le=400_000,
    )
    throughput_mib_per_s: scalars.Whole | None = classed(
        STATIC,
        "MiB a second that each disk is to have, where its type takes a number. Another one moves brokers to new VMs "
        "with new disks.",
        default=None,
        ge=1,
        le=10_000,
    )
    kms_key: scalars.OneLine | None = classed(
        STATIC,
        "Key of yours that each disk is encrypted with, in the cloud's own words: the ARN of a key on `aws`, the name "
        "of one on `google`, the id of a disk encryption set on `azure`. Without it the cloud's own key.",
        default=None,
    )

    @property
    def total_gib(self) -> int:
        """What one instance has, in GiB."""
        return self.size_gib * self.count


class PlaceSpec(Part):
    """Where the instances of a pool live."""

    cloud: scalars.DnsLabel = classed(
        STATIC, "`local`, `aws`, `google`, `azure`, `digitalocean`, `upcloud` or `hetzner`."
    )
    region: scalars.CloudWord = classed(STATIC, "Region in the cloud's own words.")
    account: scalars.CloudWord = classed(
        STATIC, "Name of the account profile whose credentials are used.", default="default"
    )
    network: scalars.DnsLabel = classed(
        IDENTITY,
        "Name of the network VMs are made in. Kedge makes it where the account's settings name none for the region; "
        "clusters that name the same share it.",
        default="default",
    )
    route: scalars.DnsLabel | None = classed(
        BEHAVIOURAL,
        "Name of a private route: places that name the same reach one another at private addresses, because somebody "
        "connected their networks. Pools of one cluster are in one network, or name one route.",
        default=None,
    )
    reach: Literal["direct"] = classed(
        BEHAVIOURAL,
        "How the server reaches brokers there: `direct`, at their own addresses. Others are reserved.",
        default="direct",
    )
    zones: tuple[scalars.CloudWord, ...] = classed(
        BEHAVIOURAL,
        "Zones; each is a Kafka rack. Nodes are dealt out to them in turn. Instances stay where they are; "
        "nodes of a zone that leaves the list are replaced elsewhere.",
        min_length=1,
        max_length=16,
    )

    @property
    def name(self) -> str:
        """`cloud/account/region`: what its Terraform state is called after."""
        return f"{self.cloud}/{self.account}/{self.region}"


class Pool(Part):
    """Instances of one kind."""

    key_field: ClassVar[str | None] = "name"

    name: scalars.DnsLabel = classed(IDENTITY, "Name of the pool; nodes are named after it.")
    services: tuple[ServiceKind, ...] = classed(
        IDENTITY,
        "`[broker]`, `[controller]` or, in mode `zookeeper`, `[zookeeper]`. Exactly one pool has the controllers, or "
        "the ZooKeeper servers; `[broker, zookeeper]` has both on each VM.",
        min_length=1,
        max_length=2,
    )
    size: scalars.Whole = classed(
        BEHAVIOURAL,
        "Number of nodes. Growing adds nodes; shrinking drains the newest ones first. Controllers and ZooKeeper "
        "servers: 1, 3 or 5, one vote at a time.",
        ge=1,
        le=1000,
    )
    machine: scalars.CloudWord = classed(
        STATIC, "`small`, `medium`, `large`, or a machine type in the cloud's own words."
    )
    alternatives: tuple[scalars.CloudWord, ...] = classed(
        BEHAVIOURAL,
        "Machines to make instead, in this order, while the cloud has no capacity for `machine` in a node's zone. "
        "A node never goes to another zone by itself.",
        default=(),
        max_length=8,
    )
    machine_figures: tuple[MachineFigures, ...] = classed(
        BEHAVIOURAL,
        "Figures of `machine` or `alternatives` where no catalogue has that type. Of a type that one has they count "
        "for nothing, and a plan warns where the two differ. VMs that stand keep the last figures of their type.",
        default=(),
        max_length=9,
    )
    spot: scalars.Flag = classed(
        STATIC,
        "Make the VMs pre-emptible: cheaper, and taken back by the cloud whenever it wants. Brokers on `aws`, `google` "
        "and `azure` only; one that is taken is a lost VM and is replaced as such.",
        default=False,
    )
    ipv6: scalars.Flag = classed(
        STATIC,
        "Give each VM an IPv6 address beside its private IPv4 one, as a way out: nobody is let in by it, and Kafka "
        "stays on IPv4. Where the region in `<cloud>.yaml` says `ipv6: true`; not on `upcloud` and `local`.",
        default=False,
    )
    public_address: scalars.Flag = classed(
        STATIC,
        "Give each VM a public IPv4 address beside its private one, for paths between clouds: nobody is let in by it, "
        "and Kafka stays on the private one. Its price is the cloud's. Not on `local`, on `azure` not for who votes; "
        "on `digitalocean` each VM has one anyway.",
        default=False,
    )
    disk: Disk = classed(STATIC, "The data disks of each instance.")
    place: PlaceSpec = classed(
        STATIC, "Where the instances live. Brokers move when cloud, region or account change; the quorum stays."
    )
    heap_mib: scalars.Whole | None = classed(
        RESTART,
        "Java heap of each service in MiB. Without it the machine decides (docs/defaults.md); on `local` brokers have "
        "256, controllers and ZooKeeper servers 128.",
        default=None,
        ge=64,
        le=262144,
    )
    zookeeper_heap_mib: scalars.Whole | None = classed(
        RESTART,
        "Java heap of the ZooKeeper server beside each broker, in a pool of `[broker, zookeeper]`. Without it the "
        "machine decides, and on `local` it is 128. `heapMib` is the broker's there.",
        default=None,
        ge=64,
        le=65536,
    )

    config: dict[scalars.PropertyKey, scalars.PropertyText] = classed(
        RESTART,
        "Kafka properties of this pool's nodes alone, over `spec.kafka.config`. A property that Kafka can change live "
        "is set on each of its brokers, every other one restarts them; those that all pools have to agree on are "
        "refused, and for controllers those that are live (`docs/settings.md`).",
        default_factory=dict,
        item_class="kafka-property",
    )
    jvm_options: tuple[scalars.OneLine, ...] = classed(
        RESTART,
        "Options of the JVM of each service beside its heap, one a line, as in `[-XX:+UseZGC, -Xlog:gc]`, over those "
        "of Kedge (docs/defaults.md): an option takes the place of the same one, and a collector that of another with "
        "all its tuning. In a pool of `[broker, zookeeper]` they are the broker's.",
        default=(),
        max_length=50,
    )
    log_levels: dict[scalars.LoggerName, LogLevel] = classed(
        DYNAMIC,
        "Levels of loggers, by name, as in `{kafka.server.ReplicaManager: DEBUG}`; `root` is every other one, `INFO` "
        "where nothing is said. Services take them within half a minute.",
        default_factory=dict,
        max_length=50,
    )

    @property
    def is_broker(self) -> bool:
        return "broker" in self.services

    @property
    def is_controller(self) -> bool:
        return "controller" in self.services

    @property
    def is_quorum(self) -> bool:
        """Whether its nodes vote: KRaft controllers, or servers of a ZooKeeper ensemble."""
        return self.is_controller or "zookeeper" in self.services

    @property
    def has_members(self) -> bool:
        """Whether a ZooKeeper server shares the VM of each of its brokers."""
        return self.is_broker and "zookeeper" in self.services

    @property
    def zones_in_use(self) -> tuple[str, ...]:
        """Zones that get a node: nodes are dealt out in turn, so a small pool leaves the last zones empty."""
        return self.place.zones[: self.size]


class ClusterSpec(Part):
    """What the cluster should be."""

    preset: PresetName | None = classed(
        BEHAVIOURAL,
        "`production` or `development`: what the spec is to mean where it says nothing (docs/defaults.md). It is spelt "
        "out when the file is read; `kedge plan` shows to what.",
        default=None,
    )
    kafka: KafkaSection = classed(STATIC, "Which Kafka runs, and how it is set.")
    pools: tuple[Pool, ...] = classed(
        BEHAVIOURAL,
        "Instances, by kind. A new pool is filled; a pool that leaves is drained. May be empty beside `external`.",
        max_length=64,
    )
    external: External | None = classed(
        IDENTITY, "What of the cluster others made and run (docs/import.md). Kedge never stops it.", default=None
    )
    rollout: RolloutPolicy = classed(BEHAVIOURAL, "How Kedge rolls instances forward.", default_factory=RolloutPolicy)
    network: NetworkSpec = classed(IDENTITY, "How nodes reach one another.", default_factory=NetworkSpec)
    security: Security = classed(IDENTITY, "What nodes speak to one another.", default_factory=Security)
    listeners: tuple[Listener, ...] = classed(
        RESTART,
        "Listeners of the brokers: one, or several beside `security.internal: tls`. There brokers take on others in "
        "place; where nodes speak plaintext another one makes new VMs all the same: clients know the addresses.",
        default=(Listener(),),
        min_length=1,
        max_length=8,
    )
    authorization: Authorization | None = classed(
        RESTART,
        "Who may do what, beside `security.internal: tls`. Without it clients that listeners ask for who they are may "
        "do what rules (ACLs) let them, and where no listener asks everybody may do everything.",
        default=None,
    )
    bootstrap: Bootstrap = classed(BEHAVIOURAL, "How clients find the cluster.", default_factory=Bootstrap)
    access: Access = classed(
        BEHAVIOURAL, "Who may reach the brokers from outside their network.", default_factory=Access
    )
    quotas: ClusterQuotas = classed(
        DYNAMIC, "Quotas of everybody, of client ids, and by tier of users.", default_factory=ClusterQuotas
    )
    healing: Healing = classed(BEHAVIOURAL, "What is done about findings without asking.", default_factory=Healing)
    health: Health = classed(BEHAVIOURAL, "How brokers are looked at as clients see them.", default_factory=Health)
    chaos: Literal["forbidden", "allowed"] = classed(
        BEHAVIOURAL,
        "Whether `kedge chaos` may end VMs of this cluster; on the local cloud it may always.",
        default="forbidden",
    )
    balance: Balance = classed(BEHAVIOURAL, "When replicas are spread anew over the brokers.", default_factory=Balance)
    deletion_policy: Literal["retain", "destroy"] = classed(
        BEHAVIOURAL,
        "What a deletion that was confirmed with the cluster's name does to its VMs and disks. "
        "A spec that is missing or empty deletes nothing, whatever this says.",
        default="retain",
    )

    @property
    def controller_pool(self) -> Pool:
        """The pool with the quorum (in ZooKeeper mode: the ensemble). Raises `LookupError` where others run the quorum,
        and on a document that no rule has accepted."""
        for pool in self.pools:
            if pool.is_quorum:
                return pool
        raise LookupError("the spec has no pool with controllers")

    @property
    def quorum_size(self) -> int:
        """Voters that are Kedge's: none where the quorum is external."""
        return 0 if self.external else self.controller_pool.size

    @property
    def broker_pools(self) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.pools if pool.is_broker)

    def pool(self, name: str) -> Pool:
        """The pool of that name. Raises `LookupError`."""
        for pool in self.pools:
            if pool.name == name:
                return pool
        raise LookupError(f"the spec has no pool {name!r}")


class KafkaClusterDocument(Part):
    """One document of a spec file, in the storage version."""

    api_version: Literal["kedge/v1alpha1"] = classed(
        BEHAVIOURAL,
        "Version of this format. Older ones are converted when they are read.",
        default=API_VERSION,
    )
    kind: Literal["KafkaCluster"] = classed(IDENTITY, "Always `KafkaCluster`.", default=KIND)
    metadata: Metadata = classed(IDENTITY, "Who the cluster is.")
    spec: ClusterSpec = classed(BEHAVIOURAL, "What the cluster should be.")
