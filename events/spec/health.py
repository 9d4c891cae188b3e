"""The part of a spec that says how a cluster is looked at from outside."""

from events.spec.fields import FieldClass, Part, classed
from events.spec.scalars import Flag


class Health(Part):
    """How brokers are looked at as clients see them."""

    heartbeats: Flag = classed(
        FieldClass.BEHAVIOURAL,
        "`true`: every two seconds the agent of the next rack sends a small record through each broker and reads it "
        "back, by the topic `__kedge_heartbeats`, which Kedge makes and places. Latencies are metrics, silence is "
        "told. Turned off, the topic stays as it is.",
        default=False,
    )
    watch_groups: Flag = classed(
        FieldClass.BEHAVIOURAL,
        "`true`: consumer groups are watched all the time, so that what stands still is told though nobody looked. "
        "Otherwise as `kafka.watch_groups` of the server's settings says; where that is `off`, none are.",
        default=False,
    )
