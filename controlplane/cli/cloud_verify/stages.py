"""What a cloud is asked to show, in order, and how each of it ended. Values alone."""

from dataclasses import dataclass
from enum import StrEnum


class VerifyStage(StrEnum):
    """One after the other; each needs those before it, but the last two, which are walked whatever happened."""

    EARLIER_RUN = "earlier run"
    DOCTOR = "doctor"
    NETWORK = "network"
    VMS = "VMs"
    AGENTS = "agents"
    BROKER = "broker"
    DISK = "disk"
    REPLACEMENT = "replacement"
    HANDOVER = "handover"
    DELETION = "deletion"
    NOTHING_LEFT = "nothing left"

    @property
    def shows(self) -> str:
        """What it is that is seen where it passes."""
        return _SHOWS[self]


_SHOWS = {
    VerifyStage.EARLIER_RUN: "nothing of an earlier run is there any more",
    VerifyStage.DOCTOR: "account, permissions, quota and images are as Kedge needs them",
    VerifyStage.NETWORK: "the network is made",
    VerifyStage.VMS: "Terraform made a VM for each node, with its disk and address, and the cloud lists them",
    VerifyStage.AGENTS: "each VM booted, read its user data and metadata, and its agent enrolled at this server",
    VerifyStage.BROKER: "the broker serves, and this server reads its metadata",
    VerifyStage.DISK: "disks grow under nodes that run on",
    VerifyStage.REPLACEMENT: "the broker's replicas moved to a new VM, and the old one is gone",
    VerifyStage.HANDOVER: "the controller's disk and address passed to a new VM while it ran",
    VerifyStage.DELETION: "the cluster is deleted: its VMs, disks and addresses are gone",
    VerifyStage.NOTHING_LEFT: "the network that was made for it is gone, too",
}


class Ending(StrEnum):
    """How a stage ended."""

    PASSED = "passed"
    FAILED = "failed"
    LEFT_OUT = "left out"
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class StageResult:
    """`told` is what was seen, or why it failed, in words; `next_step` what a person may do about it."""

    stage: VerifyStage
    ending: Ending
    seconds: float = 0.0
    told: str = ""
    next_step: str = ""


class StageFailed(Exception):
    """A stage did not show what it should: why, and what next."""

    def __init__(self, why: str, next_step: str = "") -> None:
        super().__init__(why)
        self.why, self.next_step = why, next_step
