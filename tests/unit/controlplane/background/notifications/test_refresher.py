"""What is still so is sent again to who would forget it."""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.refresher import NoticeRefresher
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.server.assembly.anomalies import owner_of
from tests.builders import NOW
from tests.changed_view import changed_view
from tests.unit.controlplane.background.anomalies.test_anomaly_reconciler import Scene
from tests.unit.controlplane.background.anomalies.test_condition_anomalies import a_condition, with_conditions


class Ear:
    def __init__(self) -> None:
        self.down = False
        self.heard: list[Notice] = []

    def tell(self, notices: Sequence[Notice]) -> None:
        if self.down:
            raise NotDelivered("it is down")
        self.heard.extend(notices)

    def close(self) -> None:
        """Nothing is held."""


def refresher(scene: Scene, ear: Ear, **binding: object) -> NoticeRefresher:
    made = NotifierBinding.model_validate(
        {"name": "am", "kind": "alertmanager", "url": "http://127.0.0.1:9093", **binding}
    )
    return NoticeRefresher(made, ear, scene.fleet, scene.store, scene.latest, lambda: scene.now)


def stuck(**more: ConditionView) -> Scene:
    return Scene(owned_by("team-a", with_conditions(AtMinIsr=a_condition("NoneToSpare"), **more)))


def owned_by(owner: str, view: ClusterView) -> ClusterView:
    assert view.document is not None
    metadata = view.document.metadata.model_copy(update={"owner": owner})
    return replace(view, document=view.document.model_copy(update={"metadata": metadata}))


def test_open_alarms_are_sent_again_and_nothing_before_or_after() -> None:
    scene, ear = stuck(), Ear()
    again = refresher(scene, ear)
    scene.look()
    again.poll()
    assert ear.heard == [], "it is within its grace"
    scene.look(minutes=3)
    again.poll()
    again.poll()
    assert [(n.subject, n.severity, n.owner, n.at) for n in ear.heard] == 2 * [
        ("AtMinIsr/NoneToSpare", "critical", "team-a", scene.now)
    ]
    scene.fleet.view = with_conditions()
    scene.look(minutes=1)
    again.poll()
    assert len(ear.heard) == 2
    assert scene.now > NOW


def test_who_wants_critical_ones_alone_is_sent_those_alone_and_a_no_is_tried_again() -> None:
    scene, ear = stuck(Synced=a_condition("BadSpec", status=False)), Ear()
    scene.look()
    scene.look(minutes=3)
    again = refresher(scene, ear, severity="critical")
    ear.down = True
    again.poll()
    ear.down = False
    again.poll()
    assert [n.subject for n in ear.heard] == ["AtMinIsr/NoneToSpare"]


def test_the_owner_of_a_name_is_that_of_the_cluster_that_lives_under_it() -> None:
    gone, lives = (
        changed_view(owned_by("team-b", with_conditions()), deleted=True),
        owned_by("team-a", with_conditions()),
    )

    class Fleet:
        def views(self) -> list[ClusterView]:
            return [gone, lives]

        def last_snapshot(self, uid: str) -> None:
            """Nothing was seen."""

    assert owner_of(Fleet(), "orders") == "team-a"
    assert owner_of(Fleet(), "payments") == ""
