"""Errors a person can act on: what happened, where, why, and what to do next. They never show a traceback."""

from controlplane.cli import exits


class CliError(Exception):
    """An expected failure. `next_step` is a command or a sentence; empty parts are not shown."""

    def __init__(
        self, what: str, *, where: str = "", why: str = "", next_step: str = "", exit_code: int = exits.FAILED
    ) -> None:
        super().__init__(f"{what}: {why}" if why else what)  # where nobody shows `lines`, as in a log
        self.what = what
        self.where = where
        self.why = why
        self.next_step = next_step
        self.exit_code = exit_code

    def lines(self) -> list[str]:
        """The error as people read it."""
        parts = (("where", self.where), ("why", self.why), ("next", self.next_step))
        return [f"error: {self.what}", *(f"  {name + ':':<6} {text}" for name, text in parts if text)]


class Unreachable(CliError):
    """Nobody answered. What now: start the server, or try again; `wait` and `events -f` do so by themselves."""


class Refused(CliError):
    """The server said no. `code` is its stable word for the reason."""

    def __init__(
        self, what: str, *, status: int, code: str, where: str = "", why: str = "", next_step: str = ""
    ) -> None:
        super().__init__(what, where=where, why=why, next_step=next_step)
        self.status = status
        self.code = code


class UnknownCluster(CliError):
    """No living cluster has that name."""

    def __init__(self, name: str, *, hint: str) -> None:
        super().__init__(f"there is no cluster `{name}`", next_step=hint)
        self.name = name
