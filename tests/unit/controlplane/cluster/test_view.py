"""The folded view answers by node, and a changed copy never with what the first one had."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from tests.builders import NODES, a_view, an_instance


class CountingMap(dict[str, InstanceView]):
    """Counts how often all instances were walked through."""

    walks = 0

    def values(self):  # type: ignore[no-untyped-def]
        self.walks += 1
        return super().values()


def test_instances_of_a_node_come_oldest_first_without_the_retired() -> None:
    olds = (an_instance("brokers-a-0", 1, Phase.RETIRED), an_instance("brokers-a-0", 3), an_instance("brokers-a-0", 2))
    view = a_view(*olds)
    assert [i.key for i in view.of_node("brokers-a-0")] == ["brokers-a-0.g2", "brokers-a-0.g3"]
    assert view.of_node("nobody-a-0") == ()
    assert set(view.nodes()) == set(NODES)


def test_asking_for_every_node_walks_through_the_instances_once() -> None:
    instances = CountingMap(a_view().instances)
    view = replace(a_view(), instances=instances)
    for node in NODES * 10:
        assert view.of_node(node)
    assert instances.walks == 1


def test_a_changed_copy_answers_for_itself() -> None:
    view = a_view()
    assert len(view.of_node("brokers-a-0")) == 1
    more: Mapping[str, InstanceView] = {**view.instances, "brokers-a-0.g2": an_instance("brokers-a-0", 2)}
    assert len(replace(view, instances=more).of_node("brokers-a-0")) == 2
    assert view == replace(view), "what was looked up before makes no difference"
