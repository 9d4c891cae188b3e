"""`kedge demo`: the main job on real parts, told as a story. It leaves nothing running."""

from controlplane.cli.demo.chapters import DemoKind
from controlplane.cli.demo.run import run_demo

__all__ = ["DemoKind", "run_demo"]
