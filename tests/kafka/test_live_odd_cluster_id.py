"""`kedge import` of a cluster whose id somebody chose."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings
from events.spec.document import load_documents
from tests.kafka_processes import KafkaProcesses

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path / "odd", network="127.0.83", min_isr=1, replication=1, cluster_id="my-cluster")
    try:
        kafka.found({1000: "a"})
        yield kafka
    finally:
        kafka.close()


def test_case_08_a_real_cluster_formatted_with_an_id_of_its_own_is_taken_on(
    processes: KafkaProcesses, tmp_path: Path
) -> None:
    around = Surroundings(environ={"KEDGE_HOME": str(tmp_path / "nobody")}, cwd=tmp_path)
    bootstrap = ",".join(processes.bootstrap)
    told = CliRunner().invoke(app, ["import", "--bootstrap", bootstrap, "--name", "odd"], obj=around)
    assert told.exit_code == 0, told.output
    loaded = load_documents(told.stdout, file="odd.yaml")
    assert loaded.ok, loaded.problems
    external = loaded.documents[0].spec.external
    assert external is not None
    assert external.cluster_id == "my-cluster"
