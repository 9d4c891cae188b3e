"""Figures over time in a demo that stays open."""

from pathlib import Path

from controlplane.cli.demo.figures import JARS, OFF, ON, can_draw, chart_words


def test_without_the_jars_nothing_is_drawn_and_that_is_said(tmp_path: Path) -> None:
    assert not can_draw(tmp_path)
    assert "make setup" in chart_words("orders", drawn=False)


def test_with_the_jars_the_page_of_the_cluster_draws_them(tmp_path: Path) -> None:
    (tmp_path / JARS).mkdir(parents=True)
    (tmp_path / JARS / "delta-spark_4.1_2.13-4.4.0.jar").touch()
    assert can_draw(tmp_path)
    assert chart_words("orders", drawn=True).startswith("the page of orders draws")


def test_the_pipeline_is_on_or_off_and_never_left_to_what_the_machine_has() -> None:
    assert (ON["KEDGE_TELEMETRY__PIPELINE"], OFF["KEDGE_TELEMETRY__PIPELINE"]) == ("true", "false")
