"""Numba behind one typed door, so that kernels keep their types and mypy reads them as plain functions.

Compiling is what a cold start pays for. So only kernels that Python calls are compiled for Python and kept on disk;
what they call among themselves is part of them, without an entry of its own for Python or for C. Divisions follow
IEEE 754 (x / 0 = inf): a check and an exception per division would be compiled into every kernel.

The file on disk is renewed when the module of the *outer* kernel changes. After a change of an inner one that lives
in another module, touch that module too.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.extending import register_jitable

from planner.kernel_cache import forgetting_other_releases

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def compiled(kernel: Kernel) -> Kernel:
    """A kernel Python calls: compiled on first call and kept beside its module, for Spark's Python workers too."""
    options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Kernel, forgetting_other_releases(njit(cache=True, **options)(kernel)))


def inner(kernel: Kernel) -> Kernel:
    """A part of compiled kernels that makes no array, and so counts no references.

    Called from Python it runs as Python.
    """
    return register_jitable(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(kernel)


def inner_making_arrays(kernel: Kernel) -> Kernel:
    """A part of compiled kernels that makes arrays."""
    return register_jitable(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(kernel)
