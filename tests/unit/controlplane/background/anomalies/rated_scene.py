"""A reconciler over one cluster whose topic `steady` has a rate, and what looks at that rate."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.anomalies.rate_learning import RateLearning
from controlplane.background.anomalies.rates import RateWatch
from controlplane.background.anomalies.reconciler import AnomalyReconciler
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from planner.anomalies.judge import Anomaly
from planner.anomalies.topic_rates import rate_subject
from planner.broker_answers import LogBounds, TopicLogs
from tests.builders import NOW
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import Scene


@dataclass
class RatedKafka:
    """Keeps what it is asked; the topic ends where the scene says."""

    scene: "RatedScene"
    end: float = 0.0
    silent: bool = False
    asked: list[str] = field(default_factory=list)

    def topic_logs(self, topic: str) -> TopicLogs | None:
        self.asked.append(topic)
        if self.silent:
            raise KafkaUnavailable(what="reading logs", where="orders", why="nobody answers")
        return TopicLogs(self.scene.now, {0: LogBounds(0, round(self.end))})


class RatedScene(Scene):
    """`kafka` is what is asked, `watch` who asks."""

    def __init__(self, view: ClusterView, *, start: datetime = NOW) -> None:
        self.kafka = RatedKafka(self)
        super().__init__(view)
        self.now = start

    def made(self) -> AnomalyReconciler:
        self.watch = self.watching()
        clock, epoch = (lambda: self.now), (lambda: 1)
        return AnomalyReconciler(
            self.fleet, self.store, self.latest, self.windows, self.heard, clock, epoch=epoch, rates=self.watch
        )

    def watching(self) -> RateWatch:
        learning = RateLearning(self.latest)
        return RateWatch(self.fleet, lambda _: self.kafka, lambda: self.now, learning)  # type: ignore[arg-type,return-value]

    def minutes(self, count: int, *, per_s: float) -> list[Anomaly]:
        """That many, with a look of both each minute; all anomalies of the rate there were."""
        for _ in range(count):
            self.kafka.end += 60 * per_s
            self.now += timedelta(minutes=1)
            self.watch.poll()
            self.look()
        return [a for a in self.fold().every() if a.subject == rate_subject("steady")]
