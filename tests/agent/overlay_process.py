"""An agent that keeps an overlay and nothing else: `FOLDER` has `overlay.json`, read again as it changes, and gets
`choices.jsonl`, a line for each path that is taken, and `report.json`, what it would report."""

import json
import sys
import time
from functools import partial
from pathlib import Path

from agent.durable import write_durably
from agent.overlay.ability import inability
from agent.overlay.member import OverlayMember
from agent.overlay.reconciler import OverlayWork, overlay_report
from agent.system_clock import SystemClock
from agent.tools import run_tool
from agent.wire import OverlayDocument

PROBE_S = 1.0
"""Twice the agent's own: this may run beside much else."""


def main(folder: Path) -> None:
    member = OverlayMember(folder, run_tool, time.monotonic, probe_s=PROBE_S)
    work = OverlayWork(member, partial(inability, run_tool), time.monotonic)
    known: dict[str, str] = {}
    with (folder / "choices.jsonl").open("a", buffering=1) as choices:
        while True:
            document = OverlayDocument.model_validate_json((folder / "overlay.json").read_text())
            probes = work.step(document)
            if work.status.problem:
                raise SystemExit(f"{work.status.problem} ({work.status.unable or 'able'})")
            report = overlay_report(document, work.status, SystemClock())
            write_durably(folder / "report.json", report.model_dump_json().encode())
            for node, choice in work.status.choices.items():
                if choice.path != known.get(node):
                    choices.write(json.dumps({"node": node, "path": choice.path, "at_s": time.monotonic()}) + "\n")
            known = {node: choice.path for node, choice in work.status.choices.items()}
            if not probes:
                time.sleep(0.2)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
