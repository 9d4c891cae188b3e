"""A label on the server's list that a cloud cannot hold is refused where it is written; no other is looked at."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.spec import admission_problems
from controlplane.commands.previews.plan import TAGGED, preview
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem

EXAMPLES = Path(__file__).parents[4] / "examples"
VIEW = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
LABELS = "  labels:\n    team: {value}\n    note: Free Text, Always!\n"
LIST = ("team", "cost-center")


def _text(cloud: str, value: str) -> str:
    text = (EXAMPLES / f"{cloud}-orders.yaml").read_text().replace("account: production", "account: default")
    lines = text.splitlines(keepends=True)
    while "  labels:" in "".join(lines):
        at = next(n for n, line in enumerate(lines) if line.startswith("  labels:"))
        end = next((n for n in range(at + 1, len(lines)) if not lines[n].startswith("    ")), len(lines))
        del lines[at:end]
    at = next(n for n, line in enumerate(lines) if line.startswith("metadata:"))
    return "".join([*lines[: at + 1], LABELS.format(value=value), *lines[at + 1 :]])


def _problems(text: str, listed: tuple[str, ...] = LIST) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    found = admission_problems(
        VIEW, loaded.documents[0], positions=loaded.positions[0], snapshot=None, cost_tags=listed
    )
    return [one for one in found if one.code == "KEDGE-SPEC-077"]


@pytest.mark.parametrize(
    ("cloud", "value", "why"),
    [
        ("aws", "'a;b'", "letters, digits, spaces"),
        ("google", "Payments", "lower-case"),
        ("azure", "''", "1 to 256"),
        ("digitalocean", "Pay ments", "`key:value`"),
        ("upcloud", f"'{'x' * 256}'", "255"),
        ("hetzner", "pay ments", "at both ends"),
    ],
)
def test_a_value_a_cloud_cannot_hold_is_refused_where_it_is_written(cloud: str, value: str, why: str) -> None:
    text = _text(cloud, value)
    (found,) = _problems(text)
    assert found.is_error
    assert "team:" in text.splitlines()[found.line - 1]
    assert f"label `team` is put on what is made in {cloud}" in found.message
    assert why in found.message
    assert "`clouds.cost_tags`" in found.fix


@pytest.mark.parametrize("cloud", ["aws", "google", "azure", "digitalocean", "upcloud", "hetzner"])
def test_what_fits_and_what_is_on_no_list_passes(cloud: str) -> None:
    assert _problems(_text(cloud, "payments")) == []
    assert _problems(_text(cloud, "'No; Tag'"), listed=()) == []


def test_the_plan_says_that_a_changed_label_rolls_nothing() -> None:
    before, after = (load_documents(_text("aws", v).encode(), file="o.yaml").documents[0] for v in ("a", "b"))
    view = replace(VIEW, document=before, generation=1)
    told = preview(view, after, snapshot=None, cost_tags=LIST)
    assert dict(told.effects) == {"metadata.labels[team]": TAGGED}
    assert dict(preview(view, after, snapshot=None).effects) == {}
    assert told.digest == preview(view, after, snapshot=None).digest
