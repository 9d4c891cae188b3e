"""The stories of a listener that asks for tokens on a living cluster. All along an oracle looks at what runs: whoever
asks for tokens, or is passed on what such a broker was asked, must know nobody by a name that a token can have, and
whoever uses the new names must be known by them where it goes."""

from collections.abc import Callable

import pytest

from controlplane.storage.certificates.principals import principals_of
from events.spec.security import Authentication, Listener
from tests.sequences.recorded import assert_told_as_recorded
from tests.sequences.test_golden_listeners import FULL, TLS, _born, _restarted, secured
from tests.sim.world import UID, World

OAUTH = Listener(
    name="OAUTH",
    port=9096,
    security="tls",
    authentication=Authentication(
        type="oauth", issuer="https://login.example/", jwks="https://login.example/jwks", audience="orders"
    ),
)
ELSEWHERE = OAUTH.model_copy(
    update={"authentication": OAUTH.authentication.model_copy(update={"audience": "other", "clock_skew": 5})}
)


def _told(world: World) -> dict[str, tuple[str, bool, bool, bool, bool]]:
    """By VM, of what runs there: the service, whether it makes new names, knows the old, the new, and takes tokens."""
    found: dict[str, tuple[str, bool, bool, bool, bool]] = {}
    for key, vm in sorted(world.machines.vms.items()):
        tls = vm.process.document.tls if vm.process else None
        if vm.process is None or tls is None:
            continue
        users = [user for user in tls.super_users if "kedge-" in user]
        old, new = (any(u.startswith(begin) for u in users) for begin in ("User:CN=", "User: CN="))
        found[key] = (vm.process.document.name, bool(tls.mapping_rules), old, new, bool(tls.token_listeners))
    return found


def _hold(world: World) -> None:
    told = _told(world).values()
    controllers, brokers = ([t for t in told if t[0] == name] for name in ("controller", "broker"))
    for _, maps, old, new, takes_tokens in told:
        assert new if maps else old, "nodes would be nobody to one another"
        assert not (takes_tokens and old), "a token could call itself a node"
    assert not any(t[4] for t in brokers) or not any(t[2] for t in controllers), "passed on, a token is a node there"
    assert not any(t[1] for t in brokers) or all(t[3] for t in controllers), "passed on, Kedge is nobody there"
    assert all(t[1] for t in brokers) or all(t[2] for t in controllers), "passed on, Kedge is nobody there"

    _hold_rights(world)


def _hold_rights(world: World) -> None:
    """Kedge, by what brokers call it, has rights before the first one does, and by what a token can say none once one
    takes tokens."""
    own, brokers = principals_of(UID), [t for t in _told(world).values() if t[0] == "broker"]
    found = {acl.principal for acl in world.kafka.users.acls or ()}
    assert own.marked("server") in found or not any(t[1] for t in brokers)
    assert own.principal("server") not in found or not any(t[4] for t in brokers)


def _converge(world: World, ticks: int = 900) -> None:
    def is_there(w: World) -> bool:
        _hold(w)
        return w.is_converged()

    world.run(until=is_there, ticks=ticks)
    world.settle()
    _hold(world)


def _listeners(world: World) -> set[tuple[str, ...]]:
    told = (vm.process.document for vm in world.machines.vms.values() if vm.process)
    return {tuple(one.name for one in d.tls.listeners) for d in told if d.tls and d.name == "broker"}


def born_with_tokens(world: World) -> None:
    """From birth nodes have names that no token can have: nothing is started anew."""
    _born(world, OAUTH)
    _hold(world)
    assert _listeners(world) == {("OAUTH",)}
    assert {t[1:4] for t in _told(world).values()} == {(True, False, True)}
    assert _restarted(world) == []


def tokens_added(world: World) -> None:
    """Controllers know both names, brokers use the new ones, controllers forget the old ones, brokers take tokens."""
    _born(world, TLS)
    world.declare(secured(TLS, OAUTH, authorization=FULL))
    _converge(world)
    assert _listeners(world) == {("TLS", "OAUTH")}
    assert _restarted(world) == [*["controllers"] * 3, *["brokers"] * 3] * 2
    assert {i.planned.generation for i in world.view().alive()} == {1}


def other_provider_then_none(world: World) -> None:
    """Another audience under the same name is a restart of brokers in place, and so is its end; the names stay."""
    _born(world, TLS, OAUTH, authorization=FULL)
    world.declare(secured(TLS, ELSEWHERE, authorization=FULL))
    _converge(world)
    assert _restarted(world) == ["brokers"] * 3
    world.declare(secured(TLS, authorization=FULL))
    _converge(world)
    assert _restarted(world) == ["brokers"] * 6
    assert _listeners(world) == {("TLS",)}
    world.declare(secured(TLS, OAUTH, authorization=FULL))
    _converge(world)
    assert _restarted(world) == ["brokers"] * 9


SCENARIOS: tuple[Callable[[World], None], ...] = (born_with_tokens, tokens_added, other_provider_then_none)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)


def test_given_up_half_way_it_goes_to_its_end_without_the_listener() -> None:
    world = World()
    _born(world, TLS)
    world.declare(secured(TLS, OAUTH, authorization=FULL))
    world.run(until=lambda w: _restarted(w).count("brokers") == 2, ticks=600)
    world.declare(secured(TLS, authorization=FULL))
    _converge(world)
    assert {t[1:4] for t in _told(world).values()} == {(True, False, True)}
    assert _listeners(world) == {("TLS",)}


def test_vms_that_are_lost_meanwhile_are_born_as_far_as_the_others_are() -> None:
    world = World()
    _born(world, TLS)
    world.declare(secured(TLS, OAUTH, authorization=FULL))
    for pool, count in (("controllers", 2), ("brokers", 2)):
        world.run(until=lambda w, p=pool, c=count: _restarted(w).count(p) == c, ticks=600)  # type: ignore[misc]
        world.run(until=lambda w: not w.view().settings.restarts, ticks=200)
        lost = max(i.key for i in world.view().alive() if i.planned.pool == pool)
        world.machines.power_cut(lost)
        world.disturbed()
    _converge(world, ticks=2000)
    assert _listeners(world) == {("TLS", "OAUTH")}
