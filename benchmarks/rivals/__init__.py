"""Other tools' drain plans beside ours: the same states, the same judge.

    python -m benchmarks rivals

kafka-tools and kafka-utils come from PyPI into an environment of their own under `.cache/rivals`: kafka-tools needs
setuptools < 81 and kafka-utils pins kafka-python 1.4.7, neither of which fits what Kedge is built with.
"""

from typing import Any


def main() -> dict[str, Any]:
    """Prints the table as Markdown (docs/planning.md carries it); returns each figure."""
    from benchmarks.rivals.report import run

    return run()
