"""The name a spec has for client properties, and the file it stands for on the server's machine."""

from pathlib import Path

import pytest

from controlplane.api.presenters.clusters import endpoints_out
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from tests.builders import a_view
from tests.external_clusters import an_external_document

FILE = "security.protocol=sasl_ssl\nsasl.mechanism=PLAIN\nsasl.username=kedge\nsasl.password={}\n"


def theirs(name: str | None = "orders") -> ClusterView:
    return a_view(document=an_external_document(client_properties=name or ""))


def written(path: Path, password: str = "first-pa55word") -> Path:
    path.write_text(FILE.format(password))
    path.chmod(0o600)
    return path


def identities(**files: Path) -> ServerIdentities:
    return ServerIdentities(None, client_files=files)


def password(shown: ServerIdentities, view: ClusterView) -> str:
    sasl = shown.sasl(view.uid)
    assert sasl is not None
    return sasl.password.get_secret_value()


def test_brokers_of_others_are_shown_what_the_named_file_says(tmp_path: Path) -> None:
    view, shown = theirs(), identities(orders=written(tmp_path / "one.properties"))
    assert not shown.know(view)
    assert shown.context(view.uid) is not None
    assert password(shown, view) == "first-pa55word"
    assert shown.properties(view.uid)["sasl.username"] == "kedge"
    assert "client properties `orders`" in shown.next_step(view.uid)
    assert str(tmp_path) not in shown.next_step(view.uid)


def test_a_rotated_password_counts_from_the_next_connection_on(tmp_path: Path) -> None:
    path = written(tmp_path / "one.properties")
    view, shown = theirs(), identities(orders=path)
    shown.know(view)
    written(path, "second-pa55word-of-theirs")
    assert shown.know(view), "connections that stand were made by the password before"
    assert not shown.know(view)
    assert password(shown, view) == "second-pa55word-of-theirs"


def test_a_cluster_that_has_none_is_spoken_to_in_plaintext_again(tmp_path: Path) -> None:
    view, shown = theirs(), identities(orders=written(tmp_path / "one.properties"))
    shown.know(view)
    assert shown.know(theirs(None))
    assert shown.context(view.uid) is None
    assert shown.sasl(view.uid) is None
    assert shown.next_step(view.uid) == ""


def test_what_is_missing_or_open_to_others_is_told_with_what_to_do_and_without_its_path(tmp_path: Path) -> None:
    view = theirs()
    open_to_others = written(tmp_path / "open.properties")
    open_to_others.chmod(0o644)
    told = []
    for shown in (identities(), identities(orders=tmp_path / "gone"), identities(orders=open_to_others)):
        shown.know(view)
        with pytest.raises(KafkaUnavailable) as unavailable:
            shown.context(view.uid)
        told.append(str(unavailable.value))
    assert "have no client properties called `orders`" in told[0]
    assert "Add `orders` to [kafka.client_properties]" in told[0]
    assert "client properties `orders`: the file cannot be read: FileNotFoundError" in told[1]
    assert "can be read by others: chmod 600 it" in told[2]
    assert not any(str(tmp_path) in text for text in told)


def test_clients_of_such_a_cluster_are_told_addresses_and_nothing_that_is_guessed() -> None:
    told, plain = endpoints_out(theirs()), endpoints_out(theirs(None))
    assert (told.security, told.listeners, told.ca) == ("tls", [], "")
    assert (plain.security, len(plain.listeners)) == ("plaintext", 1)
    assert told.bootstrap == plain.bootstrap
