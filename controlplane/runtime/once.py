"""What follows from a frozen value alone, worked out once for each copy of it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")


class Unchanging(Protocol):
    """A frozen value that has room for what follows from it. A changed copy begins without."""

    @property
    def _answers(self) -> dict[Any, Any] | None: ...


_Value = TypeVar("_Value", bound=Unchanging)


def once(of: Callable[[_Value], _T]) -> Callable[[_Value], _T]:
    """What follows from a view alone is worked out once for each copy of it: a cluster at rest keeps its view, and is
    asked the same at every tick. The same for a situation, which several steps ask. For pure functions whose answer
    nobody changes."""

    @wraps(of)
    def known(value: _Value) -> _T:
        answers = value._answers
        if answers is None:
            answers = {}
            object.__setattr__(value, "_answers", answers)
        if of not in answers:
            answers[of] = of(value)
        answer: _T = answers[of]
        return answer

    return known
