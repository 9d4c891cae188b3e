"""What can be wrong with a spec: one table of stable codes, and the problem as a person reads it.

A code is never given to another problem and never reused; the words may improve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One row of the table. `why` is the reason behind the rule, as the reference page prints it."""

    code: str
    title: str
    why: str
    severity: Severity = "error"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem at one place. `line` and `column` count from 1; 0 = the spec did not come from a file."""

    file: str
    line: int
    column: int
    code: str
    message: str
    fix: str
    path: str = ""
    severity: Severity = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    @property
    def where(self) -> str:
        """`file:line:column`, or what is known of it."""
        if self.line == 0:
            return self.file or self.path
        return f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.where}: {self.severity} {self.code}: {self.message}\n  fix: {self.fix}"


def has_errors(problems: Sequence[Problem]) -> bool:
    """Whether any of them refuses the spec; warnings do not."""
    return any(problem.is_error for problem in problems)


def show_path(path: Path) -> str:
    """`spec.pools[0].size`; a step that holds dots stands in brackets: `spec.kafka.config[num.io.threads]`."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif "." in step:
            shown += f"[{shorten(step)}]"
        else:
            shown += f".{shorten(step)}" if shown else shorten(step)
    return shown


def shorten(text: str, limit: int = 60) -> str:
    """Foreign text, cut and made printable, so that no message is longer than a person reads."""
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    return "".join(c if c.isprintable() else "?" for c in cut)


KINDS: dict[str, ProblemKind] = {}


def _kind(number: int, title: str, why: str, severity: Severity = "error") -> ProblemKind:
    code = f"KEDGE-SPEC-{number:03d}"
    if code in KINDS:
        raise ValueError(f"problem code {code} is given twice")
    KINDS[code] = ProblemKind(code, title, why, severity)
    return KINDS[code]


# The file.
TOO_LARGE = _kind(1, "file too large", "A spec is a page of text; larger files are accidents or attacks.")
NOT_TEXT = _kind(2, "not plain text", "Control characters and bytes that are not UTF-8 could hide settings.")
NOT_YAML = _kind(3, "not YAML", "What cannot be parsed cannot be guessed at.")
TOO_DEEP = _kind(4, "nested too deeply", "No spec needs it; parsers break on it.")
ANCHOR = _kind(5, "anchor or alias", "Aliases expand without bound and hide what a line really says.")
MERGE_KEY = _kind(6, "merge key", "Merged mappings expand without bound and hide what a pool really says.")
TAG = _kind(7, "tag", "Tags change what a value means; the fields of a spec know their types.")
DUPLICATE_KEY = _kind(8, "key given twice", "YAML readers silently keep the last one.")
KEY_NOT_TEXT = _kind(9, "key is not a name", "The keys of a spec are plain names.")
EMPTY = _kind(10, "no document", "An empty file declares nothing, and it never deletes anything.")
NOT_A_MAPPING = _kind(11, "document is not a mapping", "A document starts with apiVersion and kind.")
API_VERSION = _kind(12, "unknown apiVersion", "It says how the rest is to be read.")
DOCUMENT_KIND = _kind(13, "unknown kind", "Only the kinds of this page are read.")
SAME_NAME = _kind(14, "cluster named twice", "Two documents would fight over one cluster.")
TOO_MANY = _kind(15, "more problems than shown", "Later problems are mostly caused by earlier ones.")
NOT_A_SPEC = _kind(16, "something else than a spec", "A pointer, a conflict or a page stands where the file should be.")
TYPED_QUOTES = _kind(17, "typographic quotes", "YAML takes them for a part of the text.", "warning")

# One field.
UNKNOWN_KEY = _kind(20, "unknown key", "A misspelt key that is ignored is a setting that silently has no effect.")
MISSING_KEY = _kind(21, "missing key", "There is no safe default.")
WRONG_TYPE = _kind(22, "wrong type", "The field decides how its value is read; nothing is guessed.")
NOT_A_CHOICE = _kind(23, "not one of the choices", "Only the listed words have a meaning.")
OUT_OF_RANGE = _kind(24, "number out of range", "Beyond these bounds it is a slip of the keyboard.")
WRONG_FORM = _kind(25, "wrong form", "Names end up in tags, addresses and files that take no other form.")
WRONG_LENGTH = _kind(26, "too few or too many items", "The list has bounds.")
DURATION = _kind(27, "not a duration", "Seconds, or hours, minutes and seconds, up to seven days.")

# Pools.
JVM_OPTION = _kind(28, "JVM option not possible", "A JVM that does not start, or starts something else, serves nobody.")
CONTROLLER_POOLS = _kind(30, "not exactly one controller pool", "A cluster has one quorum.")
CONTROLLER_COUNT = _kind(31, "controller count", "An even quorum survives no more failures than the odd one below it.")
NO_BROKERS = _kind(32, "no broker pool", "Somebody has to hold the data.")
COMBINED = _kind(33, "combined pool", "One process with both roles cannot be rolled without touching the quorum.")
MEMBERS = _kind(29, "ZooKeeper servers on brokers' VMs", "They come and go with those VMs, and with their addresses.")
CONTROLLER_DISK = _kind(34, "controller disk not persistent", "A controller passes its disk to its next VM.")
POOL_NAME = _kind(35, "pool name given twice", "Nodes are named after their pool.")
REPEATED = _kind(36, "listed twice", "A repeated zone or service would be counted twice.")
UNEVEN = _kind(37, "size is not a multiple of the zones", "Zones get unequal load and unequal loss.", "warning")
CLOUD = _kind(38, "unknown cloud", "Each cloud needs its own module and inventory.")
PLACE = _kind(39, "unknown place or machine", "What a cloud does not offer can never be made there.")

# Kafka.
KAFKA_VERSION = _kind(
    40, "Kafka version not supported", "Only lines of which a version was rolled with real brokers are offered."
)
NEVER_ROLLED = _kind(
    54, "Kafka version never rolled here", "Another patch release of its line was rolled, this one was not.", "warning"
)
DISTRIBUTION = _kind(
    78, "build of Kafka not possible", "VMs fetch it where they are made, and one thing says which build they run."
)
METADATA_PIN = _kind(41, "metadata level not possible", "A level needs a version that knows it.")
OWNED_PROPERTY = _kind(42, "property owned by Kedge", "Kedge sets it for each node; a second value would break it.")
UNSAFE_PROPERTY = _kind(43, "property refused for safety", "It loads code or holds a secret; specs are read by many.")
UNKNOWN_PROPERTY = _kind(44, "unknown Kafka property", "Kafka ignores what it does not know, with a line in a log.")
PROPERTY_VALUE = _kind(45, "property value not possible", "Kafka would refuse to start with it.")
RF_OVER_BROKERS = _kind(46, "replication factor over brokers", "Each replica needs a broker of its own.")
RF_OVER_ZONES = _kind(47, "replication factor over zones", "Two replicas in one zone are lost together.")
MIN_ISR = _kind(48, "min ISR not below the replication factor", "No replica may be away then, so no VM can be rolled.")
SINGLE_COPY = _kind(49, "one copy only", "A lost disk is lost data.", "warning")
UNCLEAN = _kind(
    50, "unclean leader election", "A replica that lags may lead; acknowledged records are lost.", "warning"
)
REMOVED_PROPERTY = _kind(
    51, "property gone from this Kafka version", "An upgrade would leave it without effect, with a line in a log."
)
DEPRECATED_PROPERTY = _kind(52, "deprecated property", "Kafka still reads it, and a later version will not.", "warning")
POOL_PROPERTY = _kind(83, "property of all pools", "A topic, a group and a session have one value, wherever they are.")
ADOPTED = _kind(53, "nothing to adopt", "Only what the spec sets, and Kafka takes live, can differ by hand.")

# Rollout, listeners, clients.
STUCK = _kind(
    55, "rollout cannot move", "Neither an extra VM nor a missing broker is allowed, so nothing can be rolled."
)
REATTACH_DISK = _kind(56, "reattach without persistent disk", "The disk that is to move is gone with its VM.")
LISTENERS = _kind(57, "listener not offered", "Names and ports of nodes among themselves are Kedge's own.")
SECURITY = _kind(
    82, "security not offered", "Half a protection passes for a whole one: what Kedge cannot keep it refuses."
)
SECURITY_WAY = _kind(
    110, "no way to TLS from here", "Every service is restarted for it: it begins where all stands as it should."
)
COHOSTED_TLS = _kind(
    145, "TLS beside servers on brokers' VMs", "Each service shows a certificate of its own, and a VM has one."
)
NO_WAY_BACK = _kind(111, "no way back to plaintext", "Who speaks TLS alone has no port left that plaintext could use.")
NO_BOOTSTRAP = _kind(58, "no way for clients", "Clients need a name or a list to find the cluster.")
WINDOW = _kind(59, "window that cannot be kept", "What is not urgent would wait for ever, or nobody would know when.")
PARALLEL_RESTARTS = _kind(
    65, "more restarts at once than may be away", "The ceiling of brokers that are away holds for restarts, too."
)

# Networks.
NETWORKS = _kind(60, "pools of a place in two networks", "Members of a cluster have to reach one another.")
CLIENTS = _kind(61, "clients not possible", "A firewall that was misread lets in the wrong ones, or nobody.")
OPEN_TO_ALL = _kind(62, "open to everybody", "A plaintext listener serves whoever reaches it.")
DOMAINS = _kind(63, "pools that cannot reach one another", "An address means nothing beyond the networks it is of.")
PUBLIC = _kind(64, "plaintext on public addresses", "Whoever is on the way reads every record, and can write.")
IPV6 = _kind(66, "IPv6 not possible", "A VM has what its cloud and its network give it, when it is made.")

DISK_OPTIONS = _kind(67, "disk not offered", "A volume has what its cloud sells, from the day it is made.")
MACHINE_FIGURES = _kind(68, "figures of no machine of the pool", "What nothing reads is a slip of the keyboard.")
FIGURES_DIFFER = _kind(
    69, "figures differ from the catalogue's", "Of a type the catalogue has, its own figures count.", "warning"
)
DISK_GROWTH = _kind(79, "disk that cannot grow by itself", "A disk grows in place where its cloud can, or not at all.")
DISK_GROWTH_DONE = _kind(81, "disk as large as it may grow", "Nothing would ever grow, and nobody told why.", "warning")
LOST_DISK = _kind(
    84, "lost disk that never passes on", "What is gone with its VM, or has a voter beside it, is copied.", "warning"
)

# A change.
IMMUTABLE = _kind(70, "immutable field changed", "Names, places and roles of what lives cannot change under it.")
CONTROLLERS_FIXED = _kind(71, "controller pool renamed", "Ids and disks of the quorum belong to its pool's nodes.")
POOL_REMOVED = _kind(72, "no broker pool remains", "The data needs a pool that is there before and after.")
DISK_SHRINKS = _kind(73, "disk cannot become that size", "Who votes keeps its disk for ever: it may only grow.")
BELOW_DATA = _kind(74, "shrinks below its data", "What is stored must fit on what remains, with room to breathe.")
DISK_COUNT = _kind(75, "number of disks not possible", "Only a broker spreads its data over several disks.")
MIGRATION = _kind(76, "mode cannot change", "A migration to KRaft has one way, and a point after which none is back.")

# Labels that are cost tags in clouds.
COST_TAG = _kind(77, "label that cannot be a cost tag", "A bill told apart by other words than the label's misleads.")

# Parts of a cluster that others run.
EXTERNAL = _kind(80, "not offered in an external cluster", "Kedge touches nothing that others run, and says so first.")

# Pre-emptible VMs.
SPOT = _kind(85, "pre-emptible VMs not possible", "A cloud takes them back when it wants; not all may be lost so.")
SPOT_RISK = _kind(86, "data on pre-emptible VMs alone", "The cloud may take all of them back at one time.", "warning")

# Who may do what.
AUTHORIZATION = _kind(87, "authorization not possible", "Who may do everything is written down, and never nobody.")
SUPER_USER = _kind(88, "nobody who could be a super user", "A principal is a text: who is called like a node is one.")

# Topics.
INTERNAL_TOPIC = _kind(90, "topic of Kafka or Kedge itself", "They make their own topics and depend on how they are.")
TOPIC_COLLISION = _kind(91, "topics differ in `.` and `_` only", "Kafka's metrics could not tell them apart.")
PARTITIONS_SHRINK = _kind(92, "fewer partitions", "Kafka takes no partition away; its records would be lost.")
TOPIC_MIN_ISR = _kind(93, "no replica of a topic may be away", "Each roll stops the topic's writes.", "warning")
TOPIC_ZONES = _kind(94, "more replicas than zones", "Two replicas in one zone are lost together.", "warning")
SAME_TOPIC = _kind(95, "topic declared twice", "Two documents would fight over one topic.")
TOPIC_HOME = _kind(96, "cluster of a topic not declared", "A topic needs a cluster to live in.")
PRESET_RISK = _kind(98, "too little for production", "One of three may be away; of one or two none.", "warning")
TOPIC_RATE = _kind(
    97,
    "rate of a topic makes no sense",
    "Its least is above its most, so it would always be odd; or it is both declared and to be learned.",
)

# Users.
SAME_USER = _kind(99, "user declared twice", "Two documents would fight over one principal.")
RESERVED_USER = _kind(100, "name of no user", "Names of Kafka and Kedge themselves are nobody else's.")
USER_HOME = _kind(101, "no such cluster for a user", "A user needs a cluster that Kedge may make it in.")
USER_ACL = _kind(102, "right that Kafka does not know", "It would be refused, or stand there and never count.")
USER_ACL_RISK = _kind(103, "right to more than is said", "Who may give rights may do everything; it is said aloud.")
NO_AUTHORIZER = _kind(104, "rights without an authorizer", "Kafka would ask nobody for them: anybody may do anything.")
USER_TYPE = _kind(105, "user that proves itself another way", "Who it was could go on beside who it is.")
PASSWORD_IN_SPEC = _kind(106, "secret in a document", "Documents are kept, shown, compared and committed.")
NO_LISTENER_FOR_USER = _kind(107, "no listener asks for it", "The user has no door to come in by yet.", "warning")
USER_ADDRESS = _kind(108, "host that is no address", "Kafka compares one address, or lets in from anywhere.")
EARLIER_CERTIFICATES = _kind(
    123, "name whose earlier certificates still count", "Whoever has one would be let in as somebody else."
)
DELIVERY = _kind(132, "delivery of no password", "It would stand there, and nothing would ever be written.")
NO_SINK = _kind(133, "sink that the server does not have", "The password would wait, and whoever needs it, too.")

# Quotas.
QUOTA = _kind(130, "quota of nobody, or of nothing", "It would stand there and never count.")
TIER_WITHOUT_QUOTAS = _kind(131, "tier without quotas", "Who relies on it is bounded by nothing.", "warning")

# An encrypted network between nodes.
OVERLAY_UNBUILT = _kind(134, "overlay that is only checked", "What is said in clear must not pass for encrypted.")
OVERLAY_PORT = _kind(135, "port that an overlay needs itself", "Who probes a path must not reach a tunnel instead.")
OVERLAY_LOCAL = _kind(136, "overlay on the local cloud", "Its VMs share one machine's network: it would be changed.")
OVERLAY_MODE = _kind(137, "overlay not possible in this mode", "Who cannot be in it would be left outside, in clear.")
OVERLAY_SIZE = _kind(138, "more nodes than an overlay has", "Each one probes all others all the time.")
OVERLAY_PATH = _kind(139, "networks without a path", "Two nodes behind NAT cannot call each other.")
PUBLIC_ADDRESS = _kind(140, "public address not possible", "A VM has what its cloud gives it, when it is made.")

# CAs of the user's own.
OWN_CA = _kind(124, "CA of your own not possible", "What nodes believe opens the cluster: it is never just anything.")
OWN_CA_FILES = _kind(125, "files of a CA cannot be used", "Nodes would start with certificates that nobody believes.")

# Broker sets.
BROKER_SET = _kind(150, "broker set that contradicts another part", "A broker is in one set, and a topic in one.")
NO_BROKERS_LEFT = _kind(151, "nowhere for the topics no set names", "They stay on brokers that are in no set.")
BROKER_SET_SMALL = _kind(152, "broker set with fewer brokers than replicas", "Each replica needs a broker of its own.")
BROKER_SET_ZONES = _kind(
    153, "broker set in fewer zones than replicas", "Two replicas in one zone are lost together.", "warning"
)

# Pairs of clusters.
FAILOVER_UNDECLARED = _kind(160, "pair where none is declared", "What would never be done must not pass for declared.")
FAILOVER_PAIR = _kind(161, "clusters that are no pair", "One says of a cluster who may write to it, and nobody else.")
FAILOVER_CLUSTER = _kind(162, "cluster that can be of no pair", "Who takes over has to keep the other's writers out.")
FAILOVER_MODE = _kind(163, "parts of another mode", "A copy that is not made, or a size that nobody said.")
FAILOVER_NAME = _kind(164, "name of a pair that is taken", "It leads to the primary, whichever that is.")
FAILOVER_TOPIC = _kind(165, "topic of no pair", "The standby's follows the primary's; some are each cluster's own.")
FAILOVER_REPLICAS = _kind(166, "more replicas than the standby has brokers", "Each replica needs one of its own.")
FAILOVER_ROUTE = _kind(168, "replicator without a way", "Who copies has to reach the brokers of both clusters.")
FAILOVER_ONE_PLACE = _kind(169, "both clusters in one place", "What takes one takes both.", "warning")
FAILOVER_PRODUCER_IDS = _kind(
    170, "producer ids that may be the other's", "Its producers' records would pass for duplicates.", "warning"
)
FAILOVER_OWNERS = _kind(172, "pair of several owners", "Who fails over decides about both clusters.")
FAILOVER_FIXED = _kind(173, "pair that would become another one", "What was prepared was prepared for that pair.")
FAILOVER_SAME_IDS = _kind(174, "producer ids that are the other's", "Its producers' records would pass for duplicates.")
FAILOVER_VERSIONS = _kind(
    175, "clusters of two versions", "What the newer one knows, the older may refuse as it takes over.", "warning"
)
FAILOVER_NETWORK = _kind(
    176, "pair on a network that is not its VMs' own", "Nobody can be kept out of one cluster alone there."
)
FAILOVER_POOL = _kind(177, "replicators on VMs of their own", "What would never be made must not pass for declared.")
FAILOVER_SECURED = _kind(178, "copy between clusters that speak TLS", "Who copies has to be known to both clusters.")
FAILOVER_BY_ITSELF = _kind(179, "failover nobody asked for", "What would never be done must not pass for declared.")

# Tokens of a provider.
OAUTH = _kind(118, "tokens could not be judged", "What is not asked of a token, any token of the provider has.")
OAUTH_ADDRESS = _kind(119, "provider at no safe address", "Who can answer as the provider says who everybody is.")
OAUTH_CA = _kind(120, "CA of a provider that is none", "Its keys would never come: every token would be refused.")
OAUTH_NAMES = _kind(121, "names that a token could take", "A principal is a text: who is called so is it.")
OAUTH_SAME_NAME = _kind(122, "a token may be called so, too", "The provider decides who gets that name.", "warning")
