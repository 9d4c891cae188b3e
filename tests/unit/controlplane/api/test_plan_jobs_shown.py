"""Plans on Spark and plans that were not: on the page Loop, in the API and on the command line."""

from rich.console import Console

from controlplane.api.schemas.loop import LoopOut
from controlplane.cli.loop_view import loop_lines
from spark.plan_jobs import EndedJob, JobTotals, PlanningTotals
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.api.test_loop_routes import with_loop

LAST = EndedJob(at=START, drains=40, rebalances=10, partitions=5_000, seconds=2.5, refused=1)
TOTALS = PlanningTotals(JobTotals().plus(LAST), {"not ready": 2})


def words_of(totals: PlanningTotals) -> str:
    told = LoopOut(**with_loop(House(), plans=lambda: totals).get("/v1/loop").json())
    console = Console(width=200)
    with console.capture() as captured:
        for line in loop_lines(told, now=START, everything=False):
            console.print(line)
    return captured.get()


def test_the_last_job_and_what_was_planned_in_process_are_told() -> None:
    client = with_loop(House(), plans=lambda: TOTALS)
    told = client.get("/v1/loop").json()["plans"]
    assert (told["jobs"], told["clusters"], told["most"], told["in_process"]) == (1, 50, 50, {"not ready": 2})
    assert (told["last"]["drains"], told["last"]["rebalances"], told["last"]["refused"]) == (40, 10, 1)
    page = client.get("/loop", headers={"Accept": "text/html"}).text
    for words in ("Plans on Spark", "40 drains, 10 rebalances in 2.5 s", "not ready"):
        assert words in page
    said = words_of(TOTALS)
    assert "1 job of Spark, 50 plans" in said
    assert "in-process, as Spark gave none: 2 (not ready)" in said


def test_a_failed_job_says_why_and_required_spark_is_told() -> None:
    failed = EndedJob(at=START, drains=1, rebalances=0, partitions=9, seconds=1.0, error="stage 3 was lost")
    totals = PlanningTotals(JobTotals().plus(failed), required=True)
    assert "stage 3 was lost" in words_of(totals)
    assert "required" in words_of(totals)
    page = with_loop(House(), plans=lambda: totals).get("/loop", headers={"Accept": "text/html"}).text
    assert "never: <code>planner.require_spark</code>" in page


def test_a_server_without_spark_says_nothing_of_it() -> None:
    client = with_loop(House())
    assert client.get("/v1/loop").json()["plans"] is None
    assert "Plans on Spark" not in client.get("/loop", headers={"Accept": "text/html"}).text
