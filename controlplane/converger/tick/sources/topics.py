"""What is set on topics."""

from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.topics.work import names_to_ask, topic_work
from controlplane.converger.situation.observation import TopicsObserved
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from controlplane.kafka.errors import KafkaFault
from planner.observed import KafkaSnapshot


class TopicsReader:
    """Remembers when all of a cluster's declared topics were asked for."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._topics_at: dict[str, datetime] = {}

    def read(self, view: ClusterView, snapshot: KafkaSnapshot, missing: dict[str, str]) -> TopicsObserved | None:
        """What is set on topics, and what Kafka says to what is to be done next about them."""
        if not view.topics.by_name or not view.roll.converged:
            return None
        looked = self._topics_at.get(view.uid)
        everything = looked is None or snapshot.at - looked >= LOOK_EVERY
        asked = names_to_ask(view, everything=everything)
        if not asked:
            return None
        kafka = self._ports.kafka(view)
        try:
            configs = kafka.topic_configs(asked)
            step = topic_work(view, snapshot, configs, asked).step
            refusals = kafka.topic_refusals(step) if step else {}
        except KafkaFault as error:
            missing["topics"] = str(error)
            return None
        if everything:
            self._topics_at[view.uid] = snapshot.at
        return TopicsObserved(asked, configs, step.names, refusals)
