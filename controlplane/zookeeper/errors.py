"""What can go wrong when talking to a ZooKeeper ensemble, sorted by what the caller does next."""


class ZooKeeperFault(Exception):
    """A call failed. The message says what was wanted, where, why it failed and what happens next."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str) -> None:
        super().__init__(f"{what} at {where} failed: {why}. {next_step}")
        self.what = what
        self.where = where
        self.why = why
        self.next_step = next_step


class ZooKeeperUnavailable(ZooKeeperFault):
    """Nobody answered in time, or the answer was "not now". Retry later; a change may or may not have been taken."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str = "") -> None:
        told = next_step or "Look again at the next tick before repeating it."
        super().__init__(what=what, where=where, why=why, next_step=told)


class ZooKeeperRefused(ZooKeeperFault):
    """ZooKeeper understood and said no. Repeating the same request will not help."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str = "") -> None:
        told = next_step or "The same request will be refused again: change what it asks for."
        super().__init__(what=what, where=where, why=why, next_step=told)


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
