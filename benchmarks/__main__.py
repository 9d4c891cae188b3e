"""`python -m benchmarks NAME`: runs one benchmark; the last line it prints is one JSON object with its numbers.

`calibration` says what a fixed piece of work took in the same process, and of how many the benchmark took as long.
"""

import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from collections.abc import Sequence

import benchmarks
from benchmarks.calibration import calibrated
from benchmarks.processor import processor_seconds

SHARED = {
    "braked",
    "busy",
    "calibration",
    "chosen",
    "latency",
    "loaded",
    "many_users",
    "memory",
    "processor",
    "secured_copies",
    "watched",
}
"""Modules beside the benchmarks that measure for several of them."""

TAKE_ARGUMENTS = {"door", "failover", "flood", "healing", "lifecycle", "live", "portal", "secured", "surge"}
"""Benchmarks with options of their own; their `main` takes what comes after the name."""


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or 2 when the name is no benchmark."""
    modules = {module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")}
    names = sorted(modules - SHARED)
    if not arguments or arguments[0] not in names or (len(arguments) > 1 and arguments[0] not in TAKE_ARGUMENTS):
        print(f"usage: python -m benchmarks NAME, with NAME one of: {', '.join(names)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"benchmarks.{arguments[0]}")
    before, began = calibrated(), time.perf_counter()
    with processor_seconds() as taken_s:
        numbers: dict[str, object] = module.main(arguments[1:]) if arguments[1:] else module.main()
        processor_s = taken_s()
    wall_s = time.perf_counter() - began
    calibration = before.ratios(calibrated(), wall_s=wall_s, processor_s=processor_s)
    machine = {"cpus": len(os.sched_getaffinity(0)), "python": platform.python_version(), "load": os.getloadavg()[0]}
    print(json.dumps({"benchmark": arguments[0], **numbers, "machine": machine, "calibration": calibration}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
