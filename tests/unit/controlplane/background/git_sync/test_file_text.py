"""One document of a file is put back; every other byte stays."""

import pytest

from controlplane.background.git_sync.file_text import NotInFile, document_in, topic_in_file, with_document
from tests.unit.controlplane.api.test_proposals import TOPIC
from tests.unit.controlplane.background.git_sync.git_house import BROKEN, LARGER, named
from tests.unit.events.spec_texts import ORDERS

ADS = named("ads")


def test_the_only_document_is_the_whole_file() -> None:
    assert with_document(LARGER, "orders", ORDERS) == ORDERS
    assert document_in(ORDERS, "orders") == ORDERS


def test_others_of_the_file_stay_to_the_byte() -> None:
    head, tail = "# the team's\n---\n" + ADS + "# and\n", "---   # odd\n" + named("bids") + "\n\n"
    assert with_document(f"{head}---\n{LARGER}{tail}", "orders", ORDERS) == f"{head}---\n{ORDERS}{tail}"
    assert document_in(f"{head}---\n{LARGER}{tail}", "orders") == LARGER


def test_a_file_of_windows_is_cut_at_the_same_places() -> None:
    text = f"---\r\n{ADS}---\r\n{LARGER}"
    assert with_document(text, "orders", ORDERS) == f"---\r\n{ADS}---\n{ORDERS}"


def test_the_only_document_of_a_broken_file_is_the_one_that_is_meant() -> None:
    assert with_document(f"# words\n---\n{BROKEN}", "orders", ORDERS) == f"# words\n---\n{ORDERS}"


@pytest.mark.parametrize("text", [ADS, "", "# nothing\n", f"{BROKEN}---\n{ADS}", f"{ORDERS}---\n{LARGER}"])
def test_nothing_is_guessed(text: str) -> None:
    with pytest.raises(NotInFile):
        with_document(text, "orders", ORDERS)


def test_a_topic_goes_by_its_clusters_name_and_its_own() -> None:
    clicks = TOPIC.strip().removeprefix("---").strip() + "\n"
    views = clicks.replace("clicks", "views")
    name, grown = topic_in_file("orders", "clicks"), clicks.replace("partitions: 3", "partitions: 6")
    text = f"{ORDERS}---\n{clicks}---\n{views}"
    assert document_in(text, name) == clicks
    assert with_document(text, name, grown) == f"{ORDERS}---\n{grown}---\n{views}"
    with pytest.raises(NotInFile):
        with_document(clicks, "orders", ORDERS)
