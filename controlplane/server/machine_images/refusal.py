"""Why no image was built or judged."""


class ImageRefused(Exception):
    """Nothing was written. The message says what is wrong, `next_step` what a person can do about it."""

    def __init__(self, why: str, *, next_step: str = "") -> None:
        super().__init__(why)
        self.next_step = next_step
