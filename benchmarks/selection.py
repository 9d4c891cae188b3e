"""The options of a benchmark of several rows, and the run of those asked for."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Callable[[float], dict[str, Any]]
"""Measures at a scale."""


def measured(name: str, rows: Mapping[str, Row], arguments: Sequence[str]) -> dict[str, Any]:
    """`--row NAME` as often as one likes, all without; `--scale` and `--out FILE`.

    A row that fails is told with its error, and the next one runs. What a row found is in FILE as soon as it ends.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}")
    parser.add_argument("--row", choices=sorted(rows), action="append")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path(".cache") / "benchmarks" / f"{name}.json")
    asked = parser.parse_args(arguments)
    found: dict[str, Any] = {}
    for row in asked.row or rows:
        try:
            found[row] = rows[row](asked.scale)
        except (AssertionError, OSError, RuntimeError) as error:
            found[row] = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps({"scale": asked.scale, "rows": found}, indent=1))
        print(row, json.dumps(found[row]), flush=True)
    return {"scale": asked.scale, "rows": found}
