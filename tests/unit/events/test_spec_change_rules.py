"""What a living cluster cannot become in one step: each refusal with its position."""

from collections.abc import Mapping

import pytest

from events.spec.rules import check_change
from tests.unit.events.spec_texts import document, positions, told

GIB = 1024**3
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


def test_a_changed_region_is_refused() -> None:
    message = "`spec.pools[brokers].place.region` was `local-1` and cannot become `local-2`"
    fix = "Keep the place; add a pool in the new place, apply, then remove this one."
    new = {22: "      place: {cloud: local, region: local-2, zones: [a, b, c]}"}
    assert refused(new) == [("22:37", "KEDGE-SPEC-070", message, fix)]


def test_a_changed_cloud_is_refused() -> None:
    message = "`spec.pools[brokers].place.cloud` was `local` and cannot become `google`"
    new = {22: "      place: {cloud: google, region: local-1, zones: [a, b, c]}"}
    assert [one[:3] for one in refused(new)] == [("22:22", "KEDGE-SPEC-070", message)]


def test_a_changed_account_is_refused_although_the_file_has_no_line_for_it() -> None:
    old = {22: "      place: {cloud: local, region: local-1, account: mine, zones: [a, b, c]}"}
    message = "`spec.pools[brokers].place.account` was `mine` and cannot become `default`"
    assert [one[:3] for one in refused({}, old)] == [("22:7", "KEDGE-SPEC-070", message)]


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


def test_a_shrinking_disk_is_refused() -> None:
    message = "the disk of pool `brokers` has 100 GiB and cannot shrink to 50 GiB"
    fix = "Put the old size back; for smaller disks add a pool, apply, then remove this one."
    assert refused({21: "      disk: {kind: persistent, sizeGib: 50}"}) == [("21:41", "KEDGE-SPEC-073", message, fix)]


def test_shrinking_below_the_data_is_refused_with_the_numbers() -> None:
    message = (
        "pool `brokers` shrinks from 6 to 3 nodes, but 260.0 GiB are stored "
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
