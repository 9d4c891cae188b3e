"""Facts of a pair of clusters, one of each type, in the order of a planned failover; an abort behind them."""

from events import failover_facts as facts

PLANNED: tuple[object, ...] = (
    facts.FailoverDeclared("orders", "eu", "us", "warm"),
    facts.DoorClosed("us", 1, "agents", "3 VMs, 0 connections"),
    facts.CopyRequested({}),
    facts.StandbySeeded("12 topics, lag 0.2 s"),
    facts.FailoverRequested("f1", True, "asked by anna: drill"),
    facts.StandbyReady("f1", "12 topics with leaders and copies in sync"),
    facts.NamesFlipRequested("f1", "us"),
    facts.NamesFlipped("f1", "us"),
    facts.DoorCloseRequested("f1", "eu", 2),
    facts.DoorClosed("eu", 2, "agents", "3 VMs, 0 connections"),
    facts.PairDrained("f1", 48),
    facts.OffsetsAlignRequested("f1"),
    facts.OffsetsAligned("f1", {"billing": 12}),
    facts.ReplicatorStopRequested("f1"),
    facts.ReplicatorStopped("f1", "2 processes ended"),
    facts.PromotionRequested("f1", "us", 3),
    facts.DoorOpened("us", 3),
    facts.PairPromoted("f1"),
)
ABORTED: tuple[object, ...] = (
    facts.FailoverAbortRequested("f1", 3, "the drain stalls"),
    facts.DoorOpened("eu", 3),
    facts.NamesFlipRequested("f1", "eu"),
    facts.NamesFlipped("f1", "eu"),
    facts.FailoverAborted("f1"),
)
DECLARED: tuple[object, ...] = (
    facts.PairRegistered("0123", "orders", ("eu", "us")),
    facts.PairSpecChanged({"kind": "KafkaFailover"}, "api", "pair.yaml", ""),
    facts.PairWithdrawn("orders-us is given up"),
    facts.EpochsMissed("eu", "brokers-a-0.g1", 5),
    facts.ReplicatorPlaced("us", "brokers-b-0.g1"),
    facts.DivergenceJudged("f1", {"orders-0": 12}),
    facts.PairUndeclared("4f2a91c07be3d6a85b1f0e9c2d7a6b58c1e3f490"),
)
ONE_OF_EACH = tuple({type(f): f for f in (*PLANNED, *ABORTED, *DECLARED)}.values())
