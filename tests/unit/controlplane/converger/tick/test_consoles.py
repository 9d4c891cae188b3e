"""The console of a VM that never joined: kept once, cut to its end, without secrets, and never a reason to stop."""

import json
from datetime import UTC, datetime

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.tick.consoles import CONSOLE, keep_console, without_secrets
from controlplane.storage.latest_values import LatestValue, Subject
from events.ids import ClusterUid
from providers.console import LAST_BYTES
from providers.errors import CloudUnavailable
from tests.builders import a_view, an_instance
from tests.fakes.latest_values import MemoryLatestStore

NOW = datetime(2026, 11, 22, tzinfo=UTC)
TOKEN = "c2VjcmV0LXRva2Vu"
BOOT = json.dumps({"node": "brokers-a-0", "token": TOKEN})
INSTANCE = an_instance("brokers-a-0", cloud_id="vm-1")
VIEW = a_view(INSTANCE)


def kept(latest: MemoryLatestStore) -> LatestValue:
    found = latest.get(Subject(CONSOLE, ClusterUid(VIEW.uid), "brokers-a-0"))
    assert found is not None
    return found


def keep(text: str | None, latest: MemoryLatestStore) -> None:
    keep_console(VIEW, INSTANCE, lambda view, instance: text, BOOT, latest, NOW)


def test_the_enrolment_token_and_what_is_named_as_a_secret_are_cut_out() -> None:
    latest = MemoryLatestStore()
    keep(
        f'cloud-init: wrote {BOOT}\nusing {TOKEN}!\nexport DB_PASSWORD=hunter2 ok\nroot: "secret": "x1", done\n', latest
    )
    text = kept(latest).value["text"]
    for secret in (TOKEN, "hunter2", "x1"):
        assert secret not in text
    assert "using [cut]!" in text
    assert "ok" in text
    assert "done" in text


def test_a_private_key_is_cut_out_whole_also_where_its_end_is_missing() -> None:
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"
    assert without_secrets(f"a\n{block}-----END OPENSSH PRIVATE KEY-----\nb", "") == "a\n[cut]\nb"
    assert without_secrets(f"a\n{block}def", "no json") == "a\n[cut]"


def test_only_the_end_is_kept_and_the_next_vm_of_the_node_takes_its_place() -> None:
    latest = MemoryLatestStore()
    keep("x" * 100 + "\n" + "line\n" * 20_000, latest)
    assert len(kept(latest).value["text"].encode()) <= LAST_BYTES
    keep("second", latest)
    assert kept(latest).value == {"key": "brokers-a-0.g1", "text": "second", "why": ""}
    assert len(latest.of_kind(CONSOLE)) == 1


def test_why_there_is_none_is_kept_too() -> None:
    latest = MemoryLatestStore()
    keep(None, latest)
    assert kept(latest).value["why"] == "the cloud keeps no console, or tells it nobody"

    def away(view: ClusterView, instance: InstanceView) -> str | None:
        raise CloudUnavailable("no answer")

    keep_console(VIEW, INSTANCE, away, BOOT, latest, NOW)
    assert kept(latest).value["why"] == "it could not be read: no answer"
