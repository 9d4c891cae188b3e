"""The benchmark of the warm tick on a small fleet: it looks at every cluster, and at rest nothing happens to any."""

import pytest

from benchmarks import demo, tick


def test_every_cluster_of_the_fleet_is_looked_at_and_none_is_touched() -> None:
    figures = tick.measured(30)
    assert (figures["clusters"], figures["vms"]) == (30, 180)
    assert (figures["events"], figures["effects"], figures["terraform_runs"]) == (0, 0, 0)
    assert {"seconds", "cold_fold_s", "rss_mib"} <= set(figures)


def test_a_demo_that_fails_is_an_error_and_not_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "COMMAND", ("false",))
    with pytest.raises(RuntimeError, match="exit status 1"):
        demo.main()
