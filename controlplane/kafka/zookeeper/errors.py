"""What can go wrong when talking to a ZooKeeper ensemble, sorted by what the caller does next."""

from controlplane.runtime.call_errors import ASK_DIFFERENTLY, LOOK_AGAIN, CallFault


class ZooKeeperFault(CallFault):
    """A call to a ZooKeeper ensemble failed."""


class ZooKeeperUnavailable(ZooKeeperFault):
    """Nobody answered in time, or the answer was "not now". Retry later; a change may or may not have been taken."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str = "") -> None:
        what_next = next_step or LOOK_AGAIN
        super().__init__(what=what, where=where, why=why, next_step=what_next)


class ZooKeeperRefused(ZooKeeperFault):
    """ZooKeeper understood and said no. Repeating the same request will not help."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str = "") -> None:
        what_next = next_step or ASK_DIFFERENTLY
        super().__init__(what=what, where=where, why=why, next_step=what_next)


class StaleConfig(ZooKeeperRefused):
    """The ensemble is no longer the one the change was decided on. Nothing was changed; decide anew."""

    def __init__(self, *, what: str, where: str, from_version: int) -> None:
        super().__init__(
            what=what,
            where=where,
            why=f"the ensemble is no longer at version {from_version:x}, which this change was decided on",
            next_step="Somebody changed it in between: look at it again and decide anew.",
        )
        self.from_version = from_version
