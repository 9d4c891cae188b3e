"""What calls to Kafka and to ZooKeeper fail with, so that a person reads the same four things of both."""

LOOK_AGAIN = "Look again at the next tick before repeating it."
"""What is next where nobody answered: a change may or may not have been taken."""

ASK_DIFFERENTLY = "The same request will be refused again: change what it asks for."
"""What is next where the answer was no."""


class CallFault(Exception):
    """A call failed. The message says what was wanted, where, why it failed and what happens next."""

    def __init__(self, *, what: str, where: str, why: str, next_step: str) -> None:
        super().__init__(f"{what} at {where} failed: {why}. {next_step}")
        self.what = what
        self.where = where
        self.why = why
        self.next_step = next_step
