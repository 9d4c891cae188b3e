"""What Terraform makes of a run in the simulator: its changes in order, and what it would change beside them."""

from collections.abc import Collection, Iterator

from providers.base import TerraformRun
from providers.tf.rendered_set import targets_of
from providers.tf.workspace import rendered


def ordered(run: TerraformRun) -> Iterator[tuple[str, str, str]]:
    """Deletes of ties before what they tie, creates the other way round."""
    rank = {"address": 0, "volume": 1, "instance": 2, "attachment": 3, "binding": 4}
    for name in sorted(run.deletes, key=lambda n: (-rank[n.split("/")[0]], n)):
        kind, _, key = name.partition("/")
        yield ("delete", kind, key)
    for name in sorted(run.creates, key=lambda n: (rank[n.split("/")[0]], n)):
        kind, _, key = name.partition("/")
        yield ("create", kind, key)


def unasked(run: TerraformRun, state: Collection[str]) -> frozenset[str]:
    """Terraform changes all that the rendered set and the state of that place differ in: what the run does not name."""
    wanted = targets_of(rendered(run))
    known = targets_of(run.adopts).union(state) if run.adopts is not None else frozenset(state)
    return (wanted - known - run.creates) | (known - wanted - run.deletes - run.forget)
