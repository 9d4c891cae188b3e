"""What a spec tells of a machine type that no catalogue knows: enough to make VMs of it and to plan with them."""

from typing import ClassVar, Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.scalars import CloudWord, Whole

BEHAVIOURAL = FieldClass.BEHAVIOURAL


class MachineFigures(Part):
    """One type."""

    key_field: ClassVar[str | None] = "type"

    type: CloudWord = classed(
        BEHAVIOURAL, "The machine type in the cloud's own words: `machine`, or one of `alternatives`."
    )
    architecture: Literal["arm64", "x86_64"] = classed(
        BEHAVIOURAL, "Its processor: it decides which image and which agent its VMs get."
    )
    cpus: Whole = classed(BEHAVIOURAL, "Its CPUs, as the cloud counts them: quotas are held to it.", ge=1, le=4096)
    memory_mib: Whole = classed(
        BEHAVIOURAL, "Its memory in MiB: 64 GiB are 65536. Heaps are held to it.", ge=256, le=67_108_864
    )
    network_mbps: Whole | None = classed(
        BEHAVIOURAL,
        "What its network carries for good, one way, in millions of bits a second: 12.5 Gbit/s are 12500. Without it "
        "moves are planned with a guess, and plans say so.",
        default=None,
        ge=1,
        le=10_000_000,
    )
