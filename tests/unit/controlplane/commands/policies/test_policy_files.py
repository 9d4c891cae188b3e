"""Policy files: read with all their problems, tried out, and a broken one never opens anything."""

from pathlib import Path

import pytest

from controlplane.commands.policies.files import PoliciesUnreadable, judge_text, parse, read_texts, try_out
from controlplane.commands.policies.gate import PolicyGate
from controlplane.commands.policies.store import PolicyStore
from providers.price_list import PriceList
from tests.builders import a_view
from tests.unit.docs.doc_pages import ROOT
from tests.unit.events.spec_texts import ORDERS, document

POLICY = """\
apiVersion: kedge/v1alpha1
kind: Policy
metadata: {name: small}
limits: {maxBrokers: 2}
"""


def with_test(expect: str, says: str = "") -> str:
    spec = "".join(f"      {line}\n" for line in ORDERS.splitlines())
    return f"{POLICY}tests:\n  - name: three\n    expect: {expect}\n    says: '{says}'\n    spec:\n{spec}"


def store_of(folder: Path, text: str = POLICY) -> PolicyStore:
    (folder / "policies").mkdir(exist_ok=True)
    (folder / "policies" / "p.yaml").write_text(text)
    return PolicyStore(folder / "policies")


def test_all_problems_are_told_at_their_lines() -> None:
    broken = POLICY.replace("maxBrokers: 2", "maxBrokers: many, colour: red, topicNames: '('")
    with pytest.raises(PoliciesUnreadable) as told:
        parse({"p.yaml": broken, "q.yaml": "", "r.yaml": "a: [1"})
    text = "\n".join(told.value.problems)
    assert "p.yaml:4:" in text
    for word in ("maxBrokers", "colour", "topicNames", "q.yaml: the file holds no policy", "r.yaml:"):
        assert word in text


def test_a_name_is_given_once() -> None:
    with pytest.raises(PoliciesUnreadable, match="`small` already"):
        parse({"a.yaml": POLICY, "b.yaml": POLICY})


def test_a_policy_carries_its_own_tests() -> None:
    policies = parse({"p.yaml": with_test("refused", "3 brokers")})
    assert [(trial.test, trial.fault) for trial in try_out(policies, PriceList())] == [("three", "")]


@pytest.mark.parametrize(("expect", "says"), [("allowed", ""), ("refused", "something else")])
def test_a_test_that_fails_says_what_was_answered(expect: str, says: str) -> None:
    (trial,) = try_out(parse({"p.yaml": with_test(expect, says)}), PriceList())
    assert "3 brokers, at most 2 may be" in trial.fault


def test_a_spec_is_judged_as_a_whole_file() -> None:
    verdict = judge_text(parse({"p.yaml": POLICY}), ORDERS, file="orders.yaml", price_list=PriceList())
    assert verdict.word == "refused"
    with pytest.raises(ValueError, match="KafkaCluster"):
        judge_text((), "kind: nonsense\n", file="x.yaml", price_list=PriceList())


def test_a_link_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(POLICY)
    (tmp_path / "p.yaml").symlink_to(tmp_path / "real")
    with pytest.raises(PoliciesUnreadable, match="plain file"):
        read_texts(tmp_path)


def test_a_changed_file_counts_at_once(tmp_path: Path) -> None:
    policies = store_of(tmp_path)
    assert policies.current().policies[0].limits.max_brokers == 2
    store_of(tmp_path, POLICY.replace("2", "5"))
    assert policies.current().policies[0].limits.max_brokers == 5


@pytest.mark.parametrize("broken", ["nonsense", with_test("allowed")])
def test_a_broken_file_leaves_the_last_good_set_in_force_and_is_told(tmp_path: Path, broken: str) -> None:
    policies = store_of(tmp_path)
    policies.current()
    store_of(tmp_path, broken)
    known = policies.current()
    assert (known.is_good, len(known.policies)) == (True, 1)
    assert known.fault
    store_of(tmp_path)
    assert policies.current().fault == ""


def test_a_folder_that_goes_away_lifts_nothing_and_an_empty_one_does(tmp_path: Path) -> None:
    policies = store_of(tmp_path)
    policies.current()
    (tmp_path / "policies").rename(tmp_path / "elsewhere")
    assert "is gone" in policies.current().fault
    assert policies.current().policies
    (tmp_path / "policies").mkdir()
    assert (policies.current().policies, policies.current().fault) == ((), "")


def test_a_server_that_never_read_a_good_set_lets_nothing_through(tmp_path: Path) -> None:
    gate = PolicyGate(store_of(tmp_path, "nonsense"))
    assert gate.cluster(a_view(), document({7: "    version: 4.2.0"}), 0).word == "refused"
    assert gate.deletion(a_view()).word == "refused"
    store_of(tmp_path)
    assert gate.deletion(a_view()).word == "allowed"


def test_an_installation_without_the_folder_has_no_policies(tmp_path: Path) -> None:
    known = PolicyStore(tmp_path / "policies").current()
    assert (known.policies, known.is_good, known.fault) == ((), True, "")


def test_the_policies_to_start_from_pass_their_own_tests() -> None:
    files = sorted((ROOT / "examples" / "policies").glob("*.yaml"))
    assert files
    for file in files:
        trials = try_out(parse({file.name: file.read_text()}), PriceList())
        assert trials, f"{file.name} has no tests"
        assert not [trial for trial in trials if trial.fault], file.name
