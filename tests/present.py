"""What has to be there for a test to go on."""

from typing import TypeVar

_T = TypeVar("_T")


def present(value: _T | None) -> _T:
    """The value. Raises AssertionError where there is none."""
    assert value is not None
    return value
