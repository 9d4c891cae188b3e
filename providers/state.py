"""What a cloud says of a VM: a module of its own, so that the local cloud's provisioners load this and no more."""

from enum import StrEnum


class InstanceState(StrEnum):
    """`GONE` is said only when the cloud answered for that very id; missing from a list is never `GONE`."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    GONE = "gone"
