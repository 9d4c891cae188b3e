"""The replicator of this VM, put together from the real things."""

from agent.layout import REPLICATOR, AgentLayout
from agent.replicator.follower import ReplicatorFollower
from agent.replicator.mirror_maker_process import MirrorMakerProcess
from agent.replicator.record import ReplicatorRecordFile
from agent.settings import AgentSettings
from agent.surroundings import Clock


def followed_replicator(settings: AgentSettings, layout: AgentLayout, boot_id: str, clock: Clock) -> ReplicatorFollower:
    """It reads one file, and does no more before a document names a replicator. Raises NoSuchUser."""
    file = ReplicatorRecordFile(layout.state / f"{REPLICATOR}.json")
    process = MirrorMakerProcess(layout, settings)
    return ReplicatorFollower(process, file, boot_id=boot_id, times=settings.times, clock=clock)
