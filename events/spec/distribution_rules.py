"""Rules about a build of Kafka of one's own: who else says what VMs run, and whether they could fetch it."""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.model import KafkaClusterDocument, KafkaSection, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

_PATH: Path = ("spec", "kafka", "distribution")
_LOCAL = "local"


def distribution_problems(kafka: KafkaSection, pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    """Everything wrong with the distribution of a Kafka section that is there, beside the form of its fields."""
    own = kafka.distribution
    if own is None:
        return
    if not kafka.image.is_idle:
        message = "`distribution` and `image` both say which build of Kafka VMs run"
        fix = "Remove `distribution`, or `follow` and `pin` of `image`."
        yield where.problem(p.DISTRIBUTION, _PATH, message, fix, key=True)
    is_file = own.url.startswith("file:")
    for pool in pools:
        cloud = pool.place.cloud
        if is_file and cloud != _LOCAL:
            message = f"`file:///` names a file of this machine, which VMs in {cloud} (pool `{pool.name}`) cannot read"
            fix = "Give an address that begins with `https://`."
        elif not is_file and cloud == _LOCAL:
            message = f"VMs of the local cloud (pool `{pool.name}`) fetch nothing over a network"
            fix = "Fetch the archive once, and name it by `file:///` and its path."
        else:
            continue
        yield where.problem(p.DISTRIBUTION, (*_PATH, "url"), message, fix)
        return


def same_build_problems(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """An archive is of one version of Kafka: with another version the old one would go on being fetched."""
    before, after = old.spec.kafka, new.spec.kafka
    if before.distribution is None or after.distribution is None or before.version == after.version:
        return
    if before.distribution.sha256 == after.distribution.sha256:
        message = f"the build is that of Kafka {before.version}, and the version becomes {after.version}"
        fix = f"Name a build of Kafka {after.version}, or remove `distribution`."
        yield where.problem(p.DISTRIBUTION, (*_PATH, "sha256"), message, fix)
