"""An audit as a job: it runs on a thread of its own, and its outcome is in the job's row."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

from controlplane.cluster.places import places_of
from controlplane.converger.questions.clouds.rendering import existing_resources
from controlplane.converger.tick.runner import ThreadRunner
from controlplane.server.assembly.drift import run_audit
from controlplane.storage.job import JobState
from events.ids import Epoch, IntentId
from providers.audits import CloudAudit
from providers.base import Resources
from providers.tf.rendered_set import targets_of
from providers.tf.state_file import LocalStates
from tests.builders import NODES, a_view
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.plans import MemoryPlanStore

VIEW = a_view()
(PLACE,) = places_of(VIEW)
JOB = IntentId("audit-1")


def never(*_: Any) -> Any:
    raise AssertionError("nothing of this is asked for")


def test_an_audit_of_a_state_that_was_never_written_finds_nothing(tmp_path: Path) -> None:
    jobs, woken = MemoryJobStore(), threading.Event()
    runner = ThreadRunner(
        jobs,
        MemoryPlanStore(),
        owner="one",
        run_terraform=never,
        solve=never,
        balance=never,
        wake=lambda _: woken.set(),
        run_audit=partial(run_audit, tmp_path, lambda cloud: None, LocalStates(tmp_path), lambda: None),
    )
    try:
        runner.audit(JOB, CloudAudit(JOB, Resources("inst", VIEW.uid, VIEW.name, PLACE)), epoch=Epoch(1))
        assert woken.wait(10)
    finally:
        runner.stop()
    job = jobs.get(JOB)
    assert job is not None
    assert (job.kind, job.state, job.result) == ("audit", JobState.SUCCEEDED, {"resources": 0, "drifts": []})


def test_an_audit_looks_at_all_that_stands_of_a_cluster_in_a_place() -> None:
    rendered = existing_resources(VIEW, PLACE, installation_id="inst", boot_data=lambda i: f"boot of {i.key}")
    named = targets_of(rendered)
    assert {t for t in named if t.startswith("instance/")} == {f"instance/{node}.g1" for node in NODES}
    controllers = [node for node in NODES if node.startswith("controllers")]
    assert {t for t in named if t.startswith("binding/")} == {f"binding/{node}.g1" for node in controllers}
    assert {t for t in named if t.startswith("address/")} == {f"address/{node}" for node in controllers}
    assert len([t for t in named if t.startswith("volume/")]) == len(NODES)
    assert len([t for t in named if t.startswith("attachment/")]) == len(NODES)
    assert rendered.instances[0].boot_data == f"boot of {rendered.instances[0].key}"
