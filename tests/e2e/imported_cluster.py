"""A cluster of plain Kafka processes that nobody of Kedge started, and a server of Kedge's that takes it on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from typer.testing import CliRunner

from controlplane.api.schemas import specs as spec_api
from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_processes import KafkaProcesses

POOL: Mapping[str, object] = {
    "name": "ours",
    "services": ["broker"],
    "size": 3,
    "machine": "small",
    "heapMib": 160,
    "disk": {"kind": "persistent", "sizeGib": 1},
    "place": {"cloud": "local", "region": "local-1", "zones": ["a", "b", "c"]},
}


@dataclass
class Imported:
    """Their processes, our server, and the spec as it was declared last."""

    theirs: KafkaProcesses
    kedge: LivingCluster
    name: str
    spec: dict[str, object]
    spec_is_declared: bool = False

    def read(self, cwd: Path) -> str:
        """What `kedge import` writes of it; that is the spec from now on."""
        text = self.imports(cwd, "--name", self.name)
        self.spec = yaml.safe_load(text)["spec"]
        return text

    def imports(self, cwd: Path, *options: str) -> str:
        """What `kedge import` writes of it."""
        around = Surroundings(environ={"KEDGE_HOME": str(self.kedge.home)}, cwd=cwd)
        ended = CliRunner().invoke(app, ["import", "--bootstrap", self.theirs.bootstrap[0], *options], obj=around)
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    def declare(self, **changed: object) -> int:
        """The spec with these parts changed; the head of the log before it."""
        before = self.kedge.head() if self.spec_is_declared else 0
        self.spec = {**self.spec, **changed}
        document = {"apiVersion": "kedge/v1alpha1", "kind": "KafkaCluster", "metadata": {"name": self.name}}
        text = yaml.safe_dump({**document, "spec": self.spec}, sort_keys=False)
        applied = self.kedge.client.apply(spec_api.ApplyIn(text=text, file="theirs.yaml", message="e2e"))
        assert applied.ok, applied.problems
        self.spec_is_declared, self.kedge.uid = True, applied.applied[0].uid
        return before

    def apply(self, within_s: float, **changed: object) -> None:
        """Declares the spec with these parts changed, and waits until it is reached."""
        before = self.declare(**changed)
        self.kedge.event("recycle.completed", before, within_s=within_s)
        self.kedge.converged(within_s=within_s)

    def external(self, **changed: object) -> dict[str, object]:
        """The external section with these parts changed."""
        external = self.spec["external"]
        assert isinstance(external, dict)
        return {**external, **changed}

    def without(self, *brokers: int) -> dict[str, object]:
        """The external section without these."""
        listed = self.external()["brokers"]
        assert isinstance(listed, list)
        return self.external(brokers=[b for b in listed if b["id"] not in brokers])

    def told(self, kind: str) -> list[dict[str, object]]:
        return [e.data for e in self.kedge.events() if e.type == kind]
