"""Formatting happens once, on a volume that is new, and never over data."""

from pathlib import Path

import pytest

from agent.layout import AgentLayout
from agent.records import ServiceRecord
from agent.services.storage import FormatFailed, format_storage, read_meta, storage_facts
from agent.wire import LogDir, ServiceDocument
from tests.unit.agent.wanted import VOTERS, broker, controller


@pytest.fixture
def layout(tmp_path: Path) -> AgentLayout:
    for name in ("data", "more", "metadata"):
        (tmp_path / "volumes" / name).mkdir(parents=True)
    return AgentLayout(tmp_path)


def no_tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
    raise AssertionError("the storage tool is for founders")


def stale() -> ServiceDocument:
    """A broker whose volume is not new."""
    return broker(log_dirs=tuple(d.model_copy(update={"fresh": False}) for d in broker().log_dirs))


def format_(service: ServiceDocument, layout: AgentLayout) -> None:
    format_storage(service, layout, used=(), run_tool=no_tool)


def test_a_brokers_format_is_its_meta_properties(layout: AgentLayout) -> None:
    assert storage_facts(broker(), layout, used=()).state == "blank"
    format_(broker(), layout)
    assert storage_facts(broker(), layout, used=()).state == "ready"
    data = layout.data(broker().log_dirs[0])
    assert [path.name for path in data.iterdir()] == ["meta.properties"]
    assert (data / "meta.properties").read_text() == (
        "version=1\ncluster.id=kedgeUnitTestClusterAA\nnode.id=1000\ndirectory.id=YnJva2VyLWRpci1vbmUtMQ\n"
    )


def test_formatting_twice_is_fine_and_touches_nothing(layout: AgentLayout) -> None:
    format_(broker(), layout)
    kept = layout.data(broker().log_dirs[0]) / "orders-0"
    kept.mkdir()
    format_(broker(), layout)
    assert kept.is_dir()
    assert storage_facts(broker(), layout, used=(broker().log_dirs[0].directory_id,)).state == "ready"


def test_a_volume_that_should_hold_data_is_never_formatted(layout: AgentLayout) -> None:
    facts = storage_facts(stale(), layout, used=())
    assert facts.state == "refused"
    assert "brokers-a-0.data.v1" in facts.reason
    with pytest.raises(FormatFailed, match="not formatted again"):
        format_(stale(), layout)
    assert list((layout.root / "volumes" / "data").iterdir()) == []


def test_an_old_volume_with_the_right_data_is_ready(layout: AgentLayout) -> None:
    format_(broker(), layout)
    assert storage_facts(stale(), layout, used=()).state == "ready"


def test_a_directory_that_kafka_ran_on_is_not_formatted_when_it_is_empty(layout: AgentLayout) -> None:
    record = ServiceRecord(used_directories=(broker().log_dirs[0].directory_id,))
    facts = storage_facts(broker(), layout, used=record.used_directories)
    assert facts.state == "refused"
    assert "has lost it" in facts.reason


def test_an_empty_directory_that_should_hold_data_is_lost_and_a_damaged_one_is_not(layout: AgentLayout) -> None:
    assert storage_facts(stale(), layout, used=()).is_lost
    data = layout.data(broker().log_dirs[0])
    data.mkdir(parents=True, exist_ok=True)
    (data / "orders-0").mkdir()
    assert not storage_facts(stale(), layout, used=()).is_lost, "something is there: a person looks first"


def test_of_several_directories_those_that_are_lost_are_named(layout: AgentLayout) -> None:
    more = LogDir(name="more", volume="brokers-a-0.more.v1", directory_id="YnJva2VyLWRpci10d28tMg", fresh=True)
    two = broker(log_dirs=(*broker().log_dirs, more))
    format_(two, layout)
    used = tuple(d.directory_id for d in two.log_dirs)
    assert not storage_facts(two, layout, used=used).lost
    (layout.data(two.log_dirs[0]) / "meta.properties").unlink()
    assert storage_facts(two, layout, used=used).lost == ("data",)
    meta = layout.data(more) / "meta.properties"
    own = meta.read_text()
    meta.write_text(own.replace("node.id=1000", "node.id=1001"))
    assert not storage_facts(two, layout, used=used).lost, "a stranger's disk is there: a person looks first"
    meta.unlink()
    facts = storage_facts(two, layout, used=used)
    assert facts.lost == ("data", "more")
    assert "brokers-a-0.data.v1" in facts.reason
    assert "brokers-a-0.more.v1" in facts.reason


def test_another_directory_of_the_same_node_is_lost_and_anothers_is_not(layout: AgentLayout) -> None:
    format_(broker(), layout)
    meta = layout.data(broker().log_dirs[0]) / "meta.properties"
    own = meta.read_text()
    meta.write_text(own.replace("YnJva2VyLWRpci1vbmUtMQ", "YW5vdGhlci1kaXItb25lLQ"))
    assert storage_facts(stale(), layout, used=()).is_lost
    meta.write_text(own.replace("node.id=1000", "node.id=1001"))
    facts = storage_facts(stale(), layout, used=())
    assert (facts.state, facts.is_lost) == ("refused", False)


def test_a_fresh_volume_with_something_on_it_is_refused(layout: AgentLayout) -> None:
    (layout.data(broker().log_dirs[0]) / "orders-0").mkdir(parents=True)
    assert "not empty" in storage_facts(broker(), layout, used=()).reason


@pytest.mark.parametrize(
    ("change", "names"),
    [({"cluster_id": "another"}, "cluster.id"), ({"node_id": 1001}, "node.id")],
)
def test_a_foreign_volume_is_refused_with_both_values(
    layout: AgentLayout, change: dict[str, object], names: str
) -> None:
    format_(broker(), layout)
    facts = storage_facts(broker("s-1", **change), layout, used=())
    assert facts.state == "refused"
    assert names in facts.reason
    assert "nothing was touched" in facts.reason


def test_a_damaged_meta_properties_is_refused(layout: AgentLayout) -> None:
    format_(broker(), layout)
    (layout.data(broker().log_dirs[0]) / "meta.properties").write_text("clus")
    assert "damaged" in storage_facts(broker(), layout, used=()).reason


def test_only_the_new_one_of_two_volumes_is_formatted(layout: AgentLayout) -> None:
    format_(broker(), layout)
    second = LogDir(name="more", volume="brokers-a-0.more.v1", directory_id="c2Vjb25kLWRpci1pZC0yMg", fresh=True)
    both = broker(log_dirs=(*stale().log_dirs, second))
    assert storage_facts(both, layout, used=()).state == "blank"
    format_(both, layout)
    assert read_meta(layout.data(second))["directory.id"] == second.directory_id  # type: ignore[index]


def test_a_founder_is_formatted_by_kafkas_tool_beside_and_moved_when_whole(layout: AgentLayout) -> None:
    data = layout.data(controller().log_dirs[0])

    def tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
        assert not data.exists()
        assert arguments[0] == "format"
        ids = f"cluster.id=kedgeUnitTestClusterAA\nnode.id=100\ndirectory.id={VOTERS[0].directory_id}\n"
        (log_dir / "meta.properties").write_text(f"#a comment of the tool\nversion=1\n{ids}")
        (log_dir / "__cluster_metadata-0").mkdir()

    format_storage(controller(), layout, used=(), run_tool=tool)
    assert {path.name for path in data.iterdir()} == {"meta.properties", "__cluster_metadata-0"}
    assert storage_facts(controller(), layout, used=()).state == "ready"


def test_a_failed_format_leaves_nothing(layout: AgentLayout) -> None:
    def tool(log_dir: Path, arguments: tuple[str, ...]) -> None:
        (log_dir / "half").touch()
        raise FormatFailed("out of memory")

    with pytest.raises(FormatFailed, match="out of memory"):
        format_storage(controller(), layout, used=(), run_tool=tool)
    assert list((layout.root / "volumes" / "metadata").iterdir()) == []
    assert storage_facts(controller(), layout, used=()).state == "blank"


def test_a_later_controller_needs_no_tool(layout: AgentLayout) -> None:
    later = controller(founder=False)
    format_(later, layout)
    assert storage_facts(later, layout, used=()).state == "ready"


def test_a_controller_with_two_log_directories_is_refused(layout: AgentLayout) -> None:
    two = controller(log_dirs=(*controller().log_dirs, *broker().log_dirs))
    assert storage_facts(two, layout, used=()).state == "refused"


@pytest.mark.parametrize("cluster_id", ["my-cluster", r"a\b", "prod eu:1=x#y!"])
def test_case_08_an_id_of_a_cluster_is_written_and_read_as_java_reads_it(layout: AgentLayout, cluster_id: str) -> None:
    service = broker(cluster_id=cluster_id)
    format_(service, layout)
    data = layout.data(service.log_dirs[0])
    assert storage_facts(service, layout, used=()).state == "ready"
    found = read_meta(data)
    assert found is not None
    assert found["cluster.id"] == cluster_id
    # As Kafka itself writes the file anew: `java.util.Properties` escapes what separates keys from values.
    told = "".join(f"\\{c}" if c in "\\:=#!" else c for c in cluster_id)
    (data / "meta.properties").write_text(f"version=1\ncluster.id={told}\nnode.id=1\n")
    again = read_meta(data)
    assert again is not None
    assert again["cluster.id"] == cluster_id
