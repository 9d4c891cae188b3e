"""What servers say of themselves, whichever of them answers."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from controlplane.cluster.view import ClusterView
from controlplane.converger.steps.clouds.intents import job_id
from controlplane.converger.tick.planning import PlanningService
from controlplane.server.settings import Settings


def release() -> str:
    """The version of this installation of Kedge."""
    try:
        return version("kedge")
    except PackageNotFoundError:
        return "0+checkout"


def planner_state(settings: Settings, planning: PlanningService) -> str:
    """In the API's words: `spark`, `starting` or `in-process`."""
    words = {"ready": "spark", "not started": "starting", "starting": "starting"}
    return words.get(planning.status().state if settings.planner.uses_spark else "", "in-process")


def progress_of(progress: Mapping[str, str], view: ClusterView) -> str:
    """What Terraform last said of the cluster's open intents. `progress` by the id of the job."""
    texts = (progress.get(job_id(intent), "") for intent in view.intents.values())
    return next((text for text in texts if text), "")
