"""What a living cluster cannot become in one step: each refusal with its position."""

from collections.abc import Mapping

import pytest

from events.spec.rules import check_change
from tests.builders import a_document, a_zookeeper_document
from tests.unit.events.spec_texts import document, positions, told

GIB = 1024**3
POOLS = ("controllers", "brokers")
EXTRA = """\
    - name: extra
      services: [broker]
      size: 3
      machine: medium
      disk: {kind: persistent, sizeGib: 100}
      place: {cloud: local, region: local-1, zones: [a, b, c]}
"""
WITH_EXTRA = {17: f"{EXTRA}    - name: brokers"}
ONLY_EXTRA = {17: EXTRA.rstrip("\n"), **dict.fromkeys(range(18, 23), "")}


def refused(
    new: dict[int, str], old: dict[int, str] | None = None, data_bytes: Mapping[str, int] | None = None
) -> list[tuple[str, str, str, str]]:
    found = check_change(document(old), document(new), data_bytes_per_pool=data_bytes, positions=positions(new))
    assert all(one.is_error for one in found)
    return told(found)


def test_what_may_change_is_not_refused() -> None:
    edits = {
        7: "    version: 4.2.0",
        9: "      num.io.threads: 4",
        19: "      size: 6",
        20: "      machine: large",
        21: "      disk: {kind: ephemeral, sizeGib: 200}",
        22: "      place: {cloud: local, region: local-1, zones: [d, e, f]}",
        24: "    pause: true",
    }
    assert refused(edits, data_bytes={"brokers": 250 * GIB}) == []


def test_a_changed_name_is_refused() -> None:
    message = "`metadata.name` was `orders` and cannot become `others`"
    fix = "Keep the name, or declare a second cluster and move the data."
    assert refused({4: "  name: others"}) == [("4:9", "KEDGE-SPEC-070", message, fix)]


def test_brokers_may_move_to_another_region_or_account() -> None:
    assert refused({22: "      place: {cloud: local, region: local-2, zones: [a, b, c]}"}) == []
    assert refused({22: "      place: {cloud: local, region: local-1, account: mine, zones: [d, e, f]}"}) == []


def test_three_controllers_may_move() -> None:
    assert refused({16: "      place: {cloud: local, region: local-2, zones: [a, b, c]}"}) == []
    assert refused({16: "      place: {cloud: local, region: local-1, account: mine, zones: [d, e, f]}"}) == []


def test_the_only_controller_moves_to_another_zone_alone() -> None:
    """Under its own id it would have to be there and here; another zone is another node, with another id."""
    one = {"controllers": 1, "quorum_place": "cloud: local, region: local-1, zones: [a]"}
    before = a_document(**one)
    message = (
        "pool `controllers` is in local/default/local-1 and cannot move to local/default/local-2: nobody holds the "
        "metadata while the only controller changes its disk under its id"
    )
    there = a_document(**{**one, "quorum_place": "cloud: local, region: local-2, zones: [a]"})
    (problem,) = check_change(before, there, data_bytes_per_pool=None)
    assert (problem.code, problem.message) == ("KEDGE-SPEC-070", message)
    elsewhere = a_document(**{**one, "quorum_place": "cloud: local, region: local-2, zones: [d]"})
    assert check_change(before, elsewhere, data_bytes_per_pool=None) == []
    grown = a_document(**{**one, "controllers": 3, "quorum_place": "cloud: local, region: local-2, zones: [a, b, c]"})
    assert check_change(before, grown, data_bytes_per_pool=None) == []


def test_zookeeper_servers_do_not_move() -> None:
    there = a_zookeeper_document(quorum_place="cloud: local, region: local-2, zones: [a, b, c]")
    (problem,) = check_change(a_zookeeper_document(), there, data_bytes_per_pool=None)
    assert problem.code == "KEDGE-SPEC-070"
    assert problem.message.endswith("ids, disks and addresses of ZooKeeper servers belong to their nodes")


def test_a_network_changes_with_the_place_alone() -> None:
    place = "      place: {cloud: local, region: local-1, network: other, zones: [a, b, c]}"
    messages = [f"`spec.pools[{p}].place.network` was `default` and cannot become `other`" for p in POOLS]
    assert [one[1:3] for one in refused({16: place, 22: place})] == [("KEDGE-SPEC-070", m) for m in messages]
    assert refused({22: "      place: {cloud: local, region: local-2, network: other, zones: [a, b, c]}"}) == []


def test_changed_services_are_refused() -> None:
    message = "`spec.pools[controllers].services` was [controller] and cannot become [broker]"
    fix = "Keep the services; add a pool of the other kind instead."
    swapped = {11: "    - name: brokers", 17: "    - name: controllers"}
    assert ("18:17", "KEDGE-SPEC-070", message, fix) in refused(swapped)


@pytest.mark.parametrize("size", [1, 5])
def test_the_number_of_controllers_may_change(size: int) -> None:
    assert refused({13: f"      size: {size}"}) == []


def test_a_renamed_controller_pool_is_refused() -> None:
    message = (
        "the controller pool was `controllers` and cannot become `quorum`: "
        "the ids, disks and addresses of the quorum belong to its nodes"
    )
    assert refused({11: "    - name: quorum"}) == [("11:13", "KEDGE-SPEC-071", message, "Name it `controllers` again.")]


def test_a_broker_pool_may_leave_while_another_one_stays() -> None:
    assert refused({}, WITH_EXTRA, {"brokers": 100 * GIB, "extra": 100 * GIB}) == []


def test_a_renamed_only_broker_pool_is_refused() -> None:
    message = "no broker pool of before (brokers) remains to keep the cluster going"
    fix = "Keep one; to rename a pool, add the new one, apply, then remove the old one."
    assert refused(ONLY_EXTRA) == [("10:3", "KEDGE-SPEC-072", message, fix)]


def test_brokers_may_get_smaller_larger_and_other_disks() -> None:
    for disk in (
        "{kind: persistent, sizeGib: 50}",
        "{kind: persistent, sizeGib: 500}",
        "{kind: ephemeral, sizeGib: 100}",
    ):
        assert refused({21: f"      disk: {disk}"}) == []


def test_a_shrinking_disk_of_controllers_is_refused() -> None:
    message = "the disk of pool `controllers` has 10 GiB and cannot shrink to 5 GiB: its nodes keep it"
    found = refused({15: "      disk: {kind: persistent, sizeGib: 5}"})
    assert found == [("15:41", "KEDGE-SPEC-073", message, "Put the old size back.")]
    assert refused({15: "      disk: {kind: persistent, sizeGib: 20}"}) == []


def test_a_disk_of_controllers_that_cannot_grow_where_it_is_is_refused() -> None:
    there = dict.fromkeys((16, 22), "      place: {cloud: azure, region: local-1, zones: [a, b, c]}")
    found = refused({15: "      disk: {kind: persistent, sizeGib: 20}", **there}, there)
    assert [one[:2] for one in found] == [("15:41", "KEDGE-SPEC-073")]
    assert "azure makes no disk larger while its VM runs" in found[0][2]


def test_smaller_disks_below_the_data_are_refused_with_the_numbers() -> None:
    found = refused({21: "      disk: {kind: persistent, sizeGib: 50}"}, {}, {"brokers": 130 * GIB})
    assert [one[1] for one in found] == ["KEDGE-SPEC-074"]
    shrinks = "pool `brokers` shrinks from 3 nodes of 100 GiB to 3 nodes of 50 GiB, but 130.0 GiB are stored"
    assert found[0][2].startswith(shrinks)


def test_shrinking_below_the_data_is_refused_with_the_numbers() -> None:
    message = (
        "pool `brokers` shrinks from 6 nodes of 100 GiB to 3 nodes of 100 GiB, but 260.0 GiB are stored "
        "and 85 % of the remaining 300 GiB are 255.0 GiB"
    )
    fix = "Use at least 4 nodes of this disk size, or delete data."
    found = refused({}, {19: "      size: 6"}, {"brokers": 260 * GIB})
    assert found == [("19:13", "KEDGE-SPEC-074", message, fix)]


def test_shrinking_to_what_just_holds_the_data_is_accepted() -> None:
    assert refused({}, {19: "      size: 6"}, {"brokers": 255 * GIB}) == []


def test_shrinking_is_not_judged_here_while_the_data_is_not_known() -> None:
    assert refused({}, {19: "      size: 6"}, None) == []


def test_a_pool_that_leaves_needs_room_for_all_data_elsewhere() -> None:
    message = "pool `extra` leaves, but 300.0 GiB are stored and 85 % of the remaining 300 GiB are 255.0 GiB"
    fix = "Grow the pools that remain first, or delete data."
    found = refused({}, WITH_EXTRA, {"brokers": 150 * GIB, "extra": 150 * GIB})
    assert found == [("10:3", "KEDGE-SPEC-074", message, fix)]


def test_a_full_pool_that_does_not_shrink_is_left_alone() -> None:
    assert refused({24: "    pause: true"}, None, {"brokers": 299 * GIB}) == []


def test_without_positions_a_problem_still_names_its_path() -> None:
    (problem,) = check_change(document(), document({4: "  name: others"}), data_bytes_per_pool=None)
    assert (problem.line, problem.where) == (0, "metadata.name")
