"""Whose nodes are, and what the membership says of ports: put right as often as it takes, there and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL, OPEN_ACL_UNSAFE

from controlplane.kafka.zookeeper.content import EnsembleContent, KazooContent, acls_of
from controlplane.kafka.zookeeper.members import PLAIN_PORT, SECURE_PORT, ZooKeeperMember
from planner.rollout.security_steps import EnsemblePart
from tests.fakes.zookeeper import FakeEnsemble

OWNER = "CN=kedge-node-0123456789abcdef"


class _Answer:
    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self, timeout: float) -> Any:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


class _Tree:
    """Nodes by path, as much of kazoo's client as is asked. `vanishing` go between two looks at them."""

    def __init__(self, *paths: str) -> None:
        self.content: dict[str, bytes] = dict.fromkeys(paths, b"")
        self.acls: dict[str, list[ACL]] = {path: list(OPEN_ACL_UNSAFE) for path in paths}
        self.vanishing: set[str] = set()
        self.changed: list[str] = []

    def sync(self, path: str) -> None: ...

    def ensure_path(self, path: str) -> None:
        self.content.setdefault(path, b"")

    def get(self, path: str) -> tuple[bytes, None]:
        if path not in self.content:
            raise NoNodeError
        return self.content[path], None

    def create(self, path: str, content: bytes, acl: list[ACL]) -> None:
        self.content[path], self.acls[path] = content, acl

    def delete(self, path: str) -> None:
        if self.content.pop(path, None) is None:
            raise NoNodeError

    def get_children_async(self, path: str) -> _Answer:
        if path not in self.content:
            return _Answer(NoNodeError())
        below = {p[len(path) + 1 :].split("/")[0] for p in self.content if p.startswith(f"{path}/")}
        return _Answer(sorted(below))

    def get_acls_async(self, path: str) -> _Answer:
        return _Answer(NoNodeError() if path in self.vanishing else (self.acls[path], None))

    def set_acls_async(self, path: str, acls: list[ACL]) -> _Answer:
        self.acls[path] = acls
        self.changed.append(path)
        return _Answer(None)


def wanted(part: EnsemblePart, *, is_secure: bool, mark: str = "B2 1") -> EnsembleContent:
    return EnsembleContent(part, is_secure, OWNER, mark)


def reconciler(tree: _Tree, ensemble: FakeEnsemble | None = None) -> KazooContent:
    @contextmanager
    def opened(what: str) -> Iterator[Any]:
        yield tree

    return KazooContent(ensemble or FakeEnsemble(), opened)


def who(acls: list[ACL]) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(a.id.scheme, a.id.id, tuple(a.acl_list)) for a in acls}


TREE = (
    "/brokers",
    "/brokers/topics",
    "/brokers/topics/orders",
    "/config",
    "/config/users",
    "/config/users/alice",
    "/consumers",
    "/kedge",
    "/kedge/locks",
    "/controller",
    "/somebody-elses",
)
NODES = ("x509", OWNER, ("ALL",))
READERS = ("world", "anyone", ("READ",))


def test_what_brokers_write_becomes_the_nodes_own_and_nothing_else_does() -> None:
    tree = _Tree(*TREE)
    reconciler(tree).put(wanted("owners", is_secure=True))
    assert who(tree.acls["/brokers/topics/orders"]) == who(tree.acls["/controller"]) == {NODES, READERS}
    assert who(tree.acls["/config/users/alice"]) == who(tree.acls["/config/users"]) == {NODES}
    for path in ("/consumers", "/kedge/locks", "/somebody-elses"):
        assert tree.acls[path] == OPEN_ACL_UNSAFE


def test_it_is_right_once_it_was_done_for_this_very_step() -> None:
    tree = _Tree(*TREE)
    kept = reconciler(tree)
    assert not kept.is_right(wanted("owners", is_secure=True))
    kept.put(wanted("owners", is_secure=True))
    assert kept.is_right(wanted("owners", is_secure=True))
    assert not kept.is_right(wanted("owners", is_secure=True, mark="B2 2"))
    assert not kept.is_right(wanted("owners", is_secure=False))


def test_again_only_what_is_left_is_changed_and_the_way_back_opens_all_of_it() -> None:
    tree = _Tree(*TREE)
    kept = reconciler(tree)
    kept.put(wanted("owners", is_secure=True))
    tree.content["/brokers/new"], tree.acls["/brokers/new"] = b"", list(OPEN_ACL_UNSAFE)
    tree.changed.clear()
    kept.put(wanted("owners", is_secure=True))
    assert tree.changed == ["/brokers/new"]
    kept.put(wanted("owners", is_secure=False))
    assert all(tree.acls[path] == OPEN_ACL_UNSAFE for path in TREE)


def test_a_node_that_goes_meanwhile_is_left() -> None:
    tree = _Tree(*TREE)
    tree.vanishing.add("/brokers/topics/orders")
    reconciler(tree).put(wanted("owners", is_secure=True))
    assert "/brokers/topics/orders" not in tree.changed
    assert "/controller" in tree.changed


@pytest.mark.parametrize("path", ["/config/brokers", "/delegation_token/tokens/1", "/config/users/alice"])
def test_what_nodes_alone_read_is_that_of_kafka(path: str) -> None:
    assert who(acls_of(path, wanted("owners", is_secure=True))) == {NODES}
    assert who(acls_of("/config/usersother", wanted("owners", is_secure=True))) == {NODES, READERS}


def test_the_membership_says_where_servers_listen_in_plaintext_or_not() -> None:
    ensemble = FakeEnsemble()
    ensemble.found(ZooKeeperMember(i, f"10.0.1.{i}") for i in (1, 2, 3))
    kept = reconciler(_Tree(), ensemble)
    assert kept.is_right(wanted("membership", is_secure=False))
    kept.put(wanted("membership", is_secure=True))
    assert {m.port for m in ensemble.config().members} == {SECURE_PORT}
    version = ensemble.config().version
    kept.put(wanted("membership", is_secure=True))
    assert ensemble.config().version == version, "again it is no change"
    assert kept.is_right(wanted("membership", is_secure=True))
    kept.put(wanted("membership", is_secure=False))
    assert {m.port for m in ensemble.config().members} == {PLAIN_PORT}
