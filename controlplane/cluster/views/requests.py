"""What people asked of a cluster and its VMs beside its spec, for as long as it stands. Part of
`controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.views.chaos import ChaosView
from controlplane.cluster.views.evacuations import EvacuationView
from controlplane.cluster.views.game_days import GameView
from controlplane.cluster.views.healing import DemotionView, DiskMovesView, OfflineFixView, SwitchView
from controlplane.cluster.views.offset_resets import ResetView
from controlplane.cluster.views.running_settings import ReplaceView, RollingRestartView


@dataclass(frozen=True, slots=True)
class RequestsView:
    """Holds on its work, its deletion, requests about single VMs and brokers, faults and game days."""

    paused: str = ""
    paused_until: datetime | None = None
    aborting: str = ""
    waived: tuple[int, str] | None = None
    """The generation whose work may begin outside its windows, and who said so; None where nobody did."""
    held: str = ""
    """Why nothing at all is done, not even what is in hand: it was adopted and no person has resumed it yet."""
    tombstone: str = ""
    tombstone_at: datetime | None = None
    quorum_stop_at: datetime | None = None
    """Since when the controllers and ZooKeeper servers of a cluster that is to be destroyed are to stop, too."""
    deleted: bool = False
    """Nothing of it is left."""
    rolling_restart: RollingRestartView | None = None
    to_replace: Mapping[str, ReplaceView] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, until that VM is retired."""
    evacuations: Mapping[str, EvacuationView] = field(default_factory=lambda: MappingProxyType({}))
    """By instance key, until a person takes it back or that VM is retired."""
    switches: Mapping[str, SwitchView] = field(default_factory=lambda: MappingProxyType({}))
    """What people said of healing, by kind of anomaly; "" is all kinds."""
    demotions: Mapping[str, DemotionView] = field(default_factory=lambda: MappingProxyType({}))
    """Brokers that are to lead nothing, or get their leaders back, by instance key."""
    offline: Mapping[int, OfflineFixView] = field(default_factory=lambda: MappingProxyType({}))
    """Brokers a person gave up, by id, until they hold nothing or serve again."""
    disk_moves: Mapping[int, DiskMovesView] = field(default_factory=lambda: MappingProxyType({}))
    """Brokers whose replicas move between their own log directories, by id."""
    chaos: Mapping[str, ChaosView] = field(default_factory=lambda: MappingProxyType({}))
    """Faults of `kedge chaos` that are not over, by id."""
    game: GameView | None = None
    """The game day in hand."""
    games: tuple[GameView, ...] = ()
    """Those that are over, oldest first: the newest ones."""
    resets: Mapping[str, ResetView] = field(default_factory=lambda: MappingProxyType({}))
    """Where people put the offsets of consumer groups last, by group, the last one last."""
