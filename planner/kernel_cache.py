"""Compiled kernels at rest. numba keeps them in files beside their module, with the types they were compiled for, and
reads those before it asks whether the files are of this module at all."""

from typing import Any


def forgetting_other_releases(kernel: Any) -> Any:
    """The kernel. What was kept of it by another release, for types that this one does not have, is thrown away."""
    cache = getattr(kernel, "_cache", None)
    if cache is None:  # NUMBA_DISABLE_JIT: nothing is compiled
        return kernel
    load = cache.load_overload

    def load_or_forget(signature: object, context: object) -> object:
        try:
            return load(signature, context)
        except (AttributeError, ImportError):
            cache.flush()
            return None

    cache.load_overload = load_or_forget
    return kernel
