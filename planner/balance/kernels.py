"""The two doors of this package to numba. Every kernel works in arrays it is handed and makes none, so none counts
references: with a scoreboard of twenty arrays that is most of what would be compiled, and of what a call costs.

The search is steered by Python and numpy; only what is tried for every replica is compiled. numba compiles whatever a
kernel calls once more into each of its callers, so chains of calls are kept short.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

from planner.kernel_cache import forgetting_other_releases

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Called from Python, kept on disk. Takes arrays and numbers, returns numbers. IEEE 754 division."""
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
    return cast(Kernel, forgetting_other_releases(njit(cache=True, **options)(function)))


def part(function: Kernel) -> Kernel:
    """Called from kernels alone."""
    options: dict[str, Any] = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
        "error_model": "numpy",
    }
    return cast(Kernel, njit(**options)(function))
