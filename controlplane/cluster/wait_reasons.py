"""What a cluster waits for, each reason with its meaning: reasons of `Blocked`, as `docs/operating.md` explains them.

A member is the string that is stored and served. What was stored by another release may be a reason this one does not
know: a reason that was read stays a string, and `WaitReason.of` says what is known of it.
"""

from collections.abc import Mapping
from enum import Flag, StrEnum, auto
from typing import Self

NEXT = "Next: "
"""What stands before the command in a condition's message."""


class Mark(Flag):
    """What else is true of a wait for such a reason."""

    NONE = 0
    PERSON = auto()
    """Only a person ends it."""
    PERSON_ONCE_GIVEN_UP = auto()
    """Tried again by itself at first; with a command once it is not any more."""
    GIVEN_UP = auto()
    """The server stops trying when it names a next command. Without one it tries again by itself. A wait for any other
    reason (a broker that is down, Kafka that does not answer) ends as it came."""
    BROKER_BEHIND = auto()
    """Behind it stands a broker that is away: by name it is of more use than the wait is."""
    GATE = auto()
    """Waits until others are back."""
    DRAIN_STANDS = auto()
    """Of a drain that waits for it nothing moves meanwhile, or it has no plan."""
    ASKS_FOR_PLACE = auto()
    """Asks the fleet for a place, or the ensemble for a lock: who may not begin asks for neither."""
    TURN = auto()
    """A closed window, a freeze or an earlier stage: nobody has to act."""
    COPIES = auto()
    """Bytes still flow: there are just many."""


class WaitReason(StrEnum):
    """Why a tick waits. Its name in CamelCase is stable: it is stored, and people have it in their scripts."""

    sentence: str
    marks: Mark

    def __new__(cls, name: str, sentence: str, marks: Mark = Mark.NONE) -> Self:
        reason = str.__new__(cls, name)
        reason._value_ = name
        reason.sentence = sentence
        reason.marks = marks
        return reason

    ADDRESS_STAYS = "AddressStays", "A ZooKeeper server cannot move: its address stays with its VM.", Mark.PERSON
    BROKER_DOWN = "BrokerDown", "A broker is down, or a partition lacks its leader or replicas.", Mark.BROKER_BEHIND
    BROKER_STILL_UNFENCED = "BrokerStillUnfenced", "The broker has stopped; controllers still count it as alive."
    CONFIGURATION_REFUSED = (
        "ConfigurationRefused",
        "Kafka on a new VM refuses what the spec tells it.",
        Mark.PERSON | Mark.GIVEN_UP,
    )
    CONTROLLER_STAYS = "ControllerStays", "A controller is to move that the quorum cannot do without.", Mark.PERSON
    CONTROLLERS_REMEMBERED = (
        "ControllersRemembered",
        "Kafka asks controllers that left long ago before it raises a level.",
        Mark.PERSON,
    )
    COPIES_GONE = "CopiesGone", "Partitions had every copy on VMs that are gone.", Mark.PERSON
    COPIES_MISSING = "CopiesMissing", "A new disk is being filled.", Mark.COPIES
    COST_TAGS_MISSING = "CostTagsMissing", "Cost tags are not on a VM, its disks or its address."
    DISK_LOST = "DiskLost", "A broker is to be handed over, and a disk of it is empty."
    DISK_MOVES = "DiskMoves", "Replicas move between the disks of a broker."
    DOWNGRADE_BLOCKED = "DowngradeBlocked", "A new VM would have a Kafka that cannot read the metadata.", Mark.PERSON
    DRAIN_INFEASIBLE = "DrainInfeasible", "The planner found no plan for a drain, or failed.", Mark.DRAIN_STANDS
    DRAIN_MOVES = "DrainMoves", "Moves of a drain run, and none has ended for long.", Mark.COPIES
    DRAIN_NOT_CONVERGING = (
        "DrainNotConverging",
        "Partitions keep coming to brokers that are being drained.",
        Mark.PERSON | Mark.GIVEN_UP,
    )
    DRAIN_PLANNED = "DrainPlanned", "The plan of a drain is stored, and is read at the next tick."
    DRAIN_PLANNING = "DrainPlanning", "The plan of a drain is being computed."
    DRAIN_PUT_OFF = "DrainPutOff", "Drains were put off again and again; the next one begins after a pause."
    DRAIN_TARGET = "DrainTarget", "A broker that is to receive what is drained takes nothing.", Mark.DRAIN_STANDS
    ENSEMBLE_FORMS = "EnsembleForms", "A majority of the new ZooKeeper servers does not serve yet."
    ENSEMBLE_UNKNOWN = "EnsembleUnknown", "ZooKeeper does not say who leads."
    EXTERNAL_MISMATCH = "ExternalMismatch", "What others run is not what the spec says of it.", Mark.PERSON
    EXTERNAL_QUORUM_STATIC = "ExternalQuorumStatic", "A pool cannot join a static quorum of others.", Mark.PERSON
    FENCING = "Fencing", "A service was told to stop, and there is no proof that it did."
    FILESYSTEM_GROWS = "FilesystemGrows", "A volume has grown, its file system not yet."
    FINALISATION_BLOCKED = "FinalisationBlocked", "Somebody who is registered does not support the feature level."
    FLEET_BRAKE = "FleetBrake", "The fleet lets no further cluster roll now.", Mark.ASKS_FOR_PLACE
    FLEET_ORDER = "FleetOrder", "A cluster of an earlier stage has the same change in hand.", Mark.TURN
    FOREIGN_REASSIGNMENT = "ForeignReassignment", "Somebody else moves partitions of these brokers."
    FREEZE = "Freeze", "A freeze holds what is not urgent.", Mark.TURN
    HEALING_GATE = "HealingGate", "A service has to be restarted, and that is not safe now.", Mark.BROKER_BEHIND
    HEALING_OFF = "HealingOff", "A VM is gone, and healing of broker failures is switched off.", Mark.PERSON
    HELD = "Held", "The history was rebuilt, and nobody has let it go on.", Mark.PERSON
    HISTORY_UNREADABLE = "HistoryUnreadable", "An event of the history cannot be placed.", Mark.PERSON
    IMAGE_WAITS = "ImageWaits", "A revision of the image catalogue is not rolled to yet."
    IMAGE_WITHDRAWN = "ImageWithdrawn", "The revision it rolls to was withdrawn, and none is later.", Mark.PERSON
    INSTANCE_JOINS = "InstanceJoins", "A VM is up, its service does not serve yet."
    INVENTORY_UNKNOWN = "InventoryUnknown", "The cloud has not shown the effect of a run, or does not answer."
    KAFKA_UNKNOWN = "KafkaUnknown", "Kafka's metadata cannot be read, or is too old.", Mark.BROKER_BEHIND
    LINGER = "Linger", "An emptied broker stays up so that clients refresh."
    LISTING_LOST_RACKS = "ListingLostRacks", "The cloud says that whole racks vanished together.", Mark.PERSON
    LOG_DIRS_NOT_EMPTY = "LogDirsNotEmpty", "Disks of an emptied broker still hold replicas."
    LOSS_GRACE = "LossGrace", "A VM is gone, and is given time to be found again.", Mark.BROKER_BEHIND
    MACHINE_UNKNOWN = "MachineUnknown", "Nobody has figures of a machine that decides heap and threads.", Mark.PERSON
    MAX_UNAVAILABLE = (
        "MaxUnavailable",
        "As many brokers are away as the spec allows.",
        Mark.GATE | Mark.BROKER_BEHIND,
    )
    METADATA_LOST = "MetadataLost", "What is left of the quorum may be the only copy of the metadata.", Mark.PERSON
    METADATA_SETTLES = "MetadataSettles", "Moves have ended; the metadata that was read lags."
    MIGRATION = "Migration", "The last step between ZooKeeper and KRaft is not over."
    MIGRATION_BLOCKED = "MigrationBlocked", "The next step of a migration needs somebody.", Mark.PERSON
    MIGRATION_STUCK = "MigrationStuck", "The last step of a migration has not ended by its deadline.", Mark.PERSON
    MIN_ISR_GATE = (
        "MinIsrGate",
        "The step would take a partition below its min ISR.",
        Mark.GATE | Mark.BROKER_BEHIND,
    )
    MOVES_DEFERRED = "MovesDeferred", "The partitions that are left cannot move now.", Mark.DRAIN_STANDS
    NETWORK_MISSING = "NetworkMissing", "The network VMs are to be made in is not there yet."
    NO_RECEIVER = "NoReceiver", "No broker of a pool may take what others' brokers hold.", Mark.PERSON
    NO_ROOM = "NoRoom", "The brokers that stay have no room for what those that leave hold.", Mark.PERSON
    NOT_SETTLED = "NotSettled", "One instance is not in its place yet, or is lost.", Mark.BROKER_BEHIND
    PAUSED = "Paused", "Somebody paused or aborted, or the spec says so.", Mark.PERSON
    PERMISSION_MISSING = (
        "PermissionMissing",
        "The cloud does not permit what is to be done.",
        Mark.PERSON | Mark.GIVEN_UP,
    )
    QUORUM_GATE = "QuorumGate", "The other controllers are not caught up, or would be no majority.", Mark.GATE
    REASSIGNMENT_STUCK = "ReassignmentStuck", "A move waits for a broker that does not serve."
    REBALANCE_BUDGET = "RebalanceBudget", "The day's budget of a rebalance is spent."
    REBALANCE_MOVES = "RebalanceMoves", "Moves of a rebalance run, and its batch has not ended."
    REBALANCE_PLANNED = "RebalancePlanned", "The plan of a rebalance is stored, and is read at the next tick."
    REBALANCE_PLANNING = "RebalancePlanning", "The plan of a rebalance is being computed, or failed."
    REPLACEMENT_FAILED = "ReplacementFailed", "Two new VMs in a row did not join.", Mark.PERSON | Mark.GIVEN_UP
    RESTART = "Restart", "A service was started anew and is not back yet."
    RESTART_FAILED = (
        "RestartFailed",
        "A service does not come back from its restart.",
        Mark.PERSON_ONCE_GIVEN_UP | Mark.GIVEN_UP,
    )
    RESTART_LOCK = "RestartLock", "Somebody else holds ZooKeeper's restart lock.", Mark.ASKS_FOR_PLACE
    RESTART_REVERTED = "RestartReverted", "A service did not stand its restart.", Mark.PERSON | Mark.GIVEN_UP
    RUN_FAILED = "RunFailed", "A Terraform run failed.", Mark.PERSON_ONCE_GIVEN_UP | Mark.GIVEN_UP
    RUN_REFUSED = "RunRefused", "A Terraform run was refused, and would be again.", Mark.PERSON | Mark.GIVEN_UP
    SECURITY_BLOCKED = "SecurityBlocked", "The next step between plaintext and TLS needs somebody.", Mark.PERSON
    SECURITY_STEP = "SecurityStep", "A step between plaintext and TLS is not over.", Mark.GATE
    SETTING_NOT_TAKEN = "SettingNotTaken", "A broker does not run with a live value that it took."
    SETTING_REFUSED = "SettingRefused", "A broker refuses a live value.", Mark.PERSON | Mark.GIVEN_UP
    SETTING_REVERTED = (
        "SettingReverted",
        "The first broker did not stand a live value.",
        Mark.PERSON | Mark.GIVEN_UP,
    )
    SETTINGS_PENDING = "SettingsPending", "A broker that is asked first for live values does not answer."
    SOAK = "Soak", "All is done, and it is watched while there is a way back."
    SPARK_AWAY = "SparkAway", "Plans have to be Spark's, and Spark is not up."
    STOPPING = "Stopping", "A deletion waits for services to stop."
    STRANGE_ENSEMBLE = "StrangeEnsemble", "The ensemble holds the id of another cluster.", Mark.PERSON
    SUCCESSOR_SILENT = "SuccessorSilent", "The next VM of a node runs, and its agent has not reported."
    SURGE_BUDGET = "SurgeBudget", "The account's surge VMs are all in use.", Mark.ASKS_FOR_PLACE
    TAKING_BACK = "TakingBack", "Moves that hung were to be taken back, and still run."
    TERRAFORM_RUNS = "TerraformRuns", "A Terraform run is under way."
    TOPIC_REPLICAS = "TopicReplicas", "Replicas of topics are being copied, or wait to be."
    UNKNOWN_VOTER = "UnknownVoter", "A voter of the quorum is none of the cluster's controllers.", Mark.PERSON
    UNMOUNTING = "Unmounting", "Disks are to be taken from VMs that have them mounted still."
    VM_HOLDS_DISKS = "VmHoldsDisks", "The cloud takes no mounted disk from a VM that is to be deleted."
    VM_LEFT_BEHIND = "VmLeftBehind", "A run that was to delete a VM has ended, and the VM is still there."
    VMS_BOOT = "VmsBoot", "VMs were made and do not run yet."
    VOLUME_ATTACHED = "VolumeAttached", "A volume was released, and the cloud still shows it attached."
    VOLUME_DETACHED = "VolumeDetached", "A volume was bound, and the cloud does not show it attached yet."
    VOLUME_GROWS = "VolumeGrows", "A volume was grown, and the cloud still lists its old size."
    WINDOW = "Window", "What is not urgent waits for a window of the spec.", Mark.TURN

    @staticmethod
    def of(reason: str) -> "WaitReason | None":
        """What is known of a reason that was stored or served. None for one that only another release knows."""
        return _BY_NAME.get(reason)

    def has(self, mark: Mark) -> bool:
        """Whether that is true of it, too."""
        return mark in self.marks


_BY_NAME: Mapping[str, WaitReason] = {str(reason): reason for reason in WaitReason}


def is_for_a_person(reason: str, message: str) -> bool:
    """Whether a wait with this reason does not end by itself."""
    known = WaitReason.of(reason)
    if known is None:
        return False
    return known.has(Mark.PERSON) or (known.has(Mark.PERSON_ONCE_GIVEN_UP) and NEXT in message)


def is_given_up(reason: str, message: str) -> bool:
    """Whether the server tries what it waits for no more."""
    known = WaitReason.of(reason)
    return known is not None and known.has(Mark.GIVEN_UP) and NEXT in message
