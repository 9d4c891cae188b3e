"""What makes a plugin's start cheap: Terraform starts it half a dozen times in one run. Only the standard library."""

import gc
import sys
from types import ModuleType


class Unused(ModuleType):
    """In the place of a module that is imported on the way and never asked for anything: any name is an empty class."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def before_imports() -> None:
    """To be called before `grpc` is imported: its other half, for asyncio, is a fifth of a start and nobody's here.

    Nor is anything collected that the process is about to end with.
    """
    gc.disable()
    for name in ("grpc.aio", "asyncio"):
        sys.modules[name] = Unused(name)
