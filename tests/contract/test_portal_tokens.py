"""Tokens, people of the provider and the audit trail: one suite over memory, SQLite and PostgreSQL."""

import hashlib
import json
import threading
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from controlplane.api.access.bindings import Binding
from controlplane.api.access.oidc_users import OidcPeopleStore, OidcPerson, SqlOidcPeople
from controlplane.api.access.roles import Role
from controlplane.api.access.tokens import (
    SqlTokenStore,
    TokenRefused,
    TokenStore,
    make_token,
    token_of,
)
from controlplane.api.audit.entry import FIRST, Entry, Outcome
from controlplane.api.audit.store import AuditBroken, AuditFilter, AuditStore, SqlAuditStore
from events.engine import writing
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.people import MemoryOidcPeople, MemoryTokenStore

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMIT = Binding("user:ada", Role.OPERATOR, "team:payments")
DAY = timedelta(days=1)
ADA = OidcPerson("ada@example.com", "sub-1", ("a", "b"), NOW, NOW)


@pytest.fixture
def tokens(engine_or_memory: Engine | None) -> TokenStore:
    return MemoryTokenStore() if engine_or_memory is None else SqlTokenStore(engine_or_memory)


@pytest.fixture
def oidc(engine_or_memory: Engine | None) -> OidcPeopleStore:
    return MemoryOidcPeople() if engine_or_memory is None else SqlOidcPeople(engine_or_memory)


@pytest.fixture
def audit(engine_or_memory: Engine | None) -> AuditStore:
    return MemoryAuditStore() if engine_or_memory is None else SqlAuditStore(engine_or_memory)


def test_a_token_is_found_by_its_text_alone_and_its_secret_is_nowhere(tokens: TokenStore) -> None:
    shown, made = make_token(tokens, label="ci", limit=LIMIT, life=DAY, now=NOW)
    assert tokens.get(made.id) == made
    assert made.limit == LIMIT
    assert token_of(tokens, shown, client="127.0.0.1", now=NOW) == made
    secret = shown.split("_", 2)[2]  # it may hold `_` of its own
    assert secret not in repr(made) + made.secret_sha256
    wrong = shown[:-1] + ("A" if shown[-1] != "A" else "B")
    for other in ("", "kedge_", made.id, made.secret_sha256, wrong, shown.replace(made.id, "0" * 12), shown + "x"):
        assert token_of(tokens, other, client="", now=NOW) is None, other


def test_a_token_ends_by_itself(tokens: TokenStore) -> None:
    shown, _ = make_token(tokens, label="ci", limit=LIMIT, life=DAY, now=NOW)
    assert token_of(tokens, shown, client="", now=NOW + DAY - timedelta(seconds=1)) is not None
    assert token_of(tokens, shown, client="", now=NOW + DAY) is None


def test_a_revoked_token_opens_nothing_and_is_revoked_once(tokens: TokenStore) -> None:
    shown, made = make_token(tokens, label="ci", limit=LIMIT, life=DAY, now=NOW)
    assert tokens.revoke(made.id, NOW)
    assert not tokens.revoke(made.id, NOW)
    assert not tokens.revoke("0" * 12, NOW)
    assert token_of(tokens, shown, client="", now=NOW) is None


def test_who_leaves_takes_their_tokens_along_and_no_others(tokens: TokenStore) -> None:
    theirs, _ = make_token(tokens, label="a", limit=LIMIT, life=DAY, now=NOW)
    other, _ = make_token(tokens, label="b", limit=Binding("user:bob", Role.VIEWER, "*"), life=DAY, now=NOW)
    tokens.revoke_all_of("user:ada", NOW)
    assert token_of(tokens, theirs, client="", now=NOW) is None
    assert token_of(tokens, other, client="", now=NOW) is not None


def test_the_last_use_is_noted_once_a_minute_and_from_each_address(tokens: TokenStore) -> None:
    shown, made = make_token(tokens, label="ci", limit=LIMIT, life=DAY, now=NOW)

    def used_at(seconds: int, client: str) -> tuple[datetime | None, str]:
        token_of(tokens, shown, client=client, now=NOW + timedelta(seconds=seconds))
        found = tokens.get(made.id)
        assert found is not None
        return found.used_at, found.used_from

    assert used_at(0, "10.0.0.1") == (NOW, "10.0.0.1")
    assert used_at(30, "10.0.0.1") == (NOW, "10.0.0.1")
    assert used_at(40, "10.0.0.2") == (NOW + timedelta(seconds=40), "10.0.0.2")
    assert used_at(100, "10.0.0.2") == (NOW + timedelta(seconds=100), "10.0.0.2")


def test_tokens_are_listed_with_the_newest_first(tokens: TokenStore) -> None:
    for number in range(3):
        make_token(tokens, label=f"t{number}", limit=LIMIT, life=DAY, now=NOW + timedelta(hours=number))
    assert [token.label for token in tokens.all()] == ["t2", "t1", "t0"]


@pytest.mark.parametrize(
    ("label", "life"), [("", DAY), ("a\nb", DAY), ("x" * 65, DAY), ("ci", timedelta()), ("ci", 400 * DAY)]
)
def test_a_token_without_a_label_or_an_end_is_refused(label: str, life: timedelta) -> None:
    with pytest.raises(TokenRefused):
        make_token(MemoryTokenStore(), label=label, limit=LIMIT, life=life, now=NOW)


def test_a_person_of_the_provider_is_made_and_refreshed(oidc: OidcPeopleStore) -> None:
    assert oidc.signed_in(ADA) == ADA
    later = OidcPerson("ada@example.com", "sub-1", ("b",), NOW + DAY, NOW + DAY)
    assert oidc.signed_in(later) == OidcPerson("ada@example.com", "sub-1", ("b",), NOW, NOW + DAY)
    assert [p.groups for p in oidc.all()] == [("b",)]


def test_a_name_stays_with_whom_it_first_was(oidc: OidcPeopleStore) -> None:
    oidc.signed_in(ADA)
    assert oidc.signed_in(OidcPerson("ada@example.com", "sub-2", ("admins",), NOW, NOW)) is None
    assert oidc.get("ada@example.com") == ADA
    assert oidc.remove("ada@example.com")
    assert oidc.signed_in(OidcPerson("ada@example.com", "sub-2", (), NOW, NOW)) is not None


def test_a_disabled_person_stays_so_when_they_come_again(oidc: OidcPeopleStore) -> None:
    oidc.signed_in(ADA)
    assert oidc.disable("ada@example.com", NOW)
    assert not oidc.disable("nobody", NOW)
    again = oidc.signed_in(ADA)
    assert again is not None
    assert again.disabled_at == NOW


def test_a_state_is_taken_once_whoever_is_faster(oidc: OidcPeopleStore) -> None:
    taken: list[bool] = []
    rivals = [threading.Thread(target=lambda: taken.append(oidc.take("state", NOW))) for _ in range(6)]
    for thread in rivals:
        thread.start()
    for thread in rivals:
        thread.join()
    assert sorted(taken) == [False] * 5 + [True]
    assert oidc.take("another", NOW)
    assert oidc.take("state", NOW + DAY), "long over: its cookie is not taken any more either"


def entry(number: int = 0, **changed: object) -> Entry:
    told = {
        "at": NOW + timedelta(seconds=number, microseconds=number),
        "who": "user:ada",
        "via": "session",
        "client": "127.0.0.1",
        "call": "POST /clusters/orders/pause",
        "verb": "steer",
        "object": "orders",
        "outcome": Outcome.DONE,
        "status": 200,
        "event_position": number,
        "note": "ü 100% a_b",
    }
    return Entry(**{**told, **changed})  # type: ignore[arg-type]


def test_entries_come_back_as_they_were_newest_first_and_page_by_page(audit: AuditStore) -> None:
    written = [audit.append(entry(number, event_position=number or None)) for number in range(5)]
    assert [kept.position for kept in written] == [1, 2, 3, 4, 5]
    assert audit.page(AuditFilter(), 3) == [written[4], written[3], written[2]]
    assert audit.page(AuditFilter(before=3), 3) == [written[1], written[0]]
    assert audit.page(AuditFilter(after=0), 2) == [written[0], written[1]]
    assert audit.page(AuditFilter(after=3, before=5), 3) == [written[3]]
    assert audit.page(AuditFilter(after=5), 3) == []
    assert audit.verify() == 5


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AuditFilter(text="PAUSE"), [1]),
        (AuditFilter(text="ledger"), [2]),
        (AuditFilter(text="100%"), [3]),
        (AuditFilter(text="%"), [3]),
        (AuditFilter(text="a_b"), [3]),
        (AuditFilter(text="10.0.0.9"), [4]),
        (AuditFilter(text="token:77"), [4]),
        (AuditFilter(who="bob"), [2]),
        (AuditFilter(outcome="denied"), [4]),
        (AuditFilter(since=NOW + timedelta(seconds=3)), [4, 3]),
        (AuditFilter(until=NOW + timedelta(seconds=2)), [1]),
        (AuditFilter(text="nothing of it"), []),
        (AuditFilter(request="0123456789abcdef"), [2]),
        (AuditFilter(request="0123456789"), []),
    ],
)
def test_a_filter_finds_what_it_says(audit: AuditStore, wanted: AuditFilter, found: list[int]) -> None:
    audit.append(entry(1, note=""))
    audit.append(entry(2, note="", who="user:bob", object="ledger", call="POST /x", request="0123456789abcdef"))
    audit.append(entry(3, call="POST /x"))
    audit.append(entry(4, note="", call="POST /x", outcome=Outcome.DENIED, client="10.0.0.9", via="token:77"))
    assert [kept.position for kept in audit.page(wanted, 10)] == found


def test_many_at_once_leave_no_gap(audit: AuditStore) -> None:
    def write() -> None:
        for number in range(10):
            audit.append(entry(number))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert audit.verify() == 40


def test_rows_of_releases_before_request_ids_are_whole_among_rows_with_them(audit: AuditStore) -> None:
    """`kept` of such a release had no `request` in what it hashed."""
    old = audit.append(entry(1))
    told = {name: value for name, value in asdict(old.entry).items() if name != "request"}
    told |= {"at": old.entry.at.isoformat(timespec="microseconds"), "position": 1}
    written = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert old.sha256 == hashlib.sha256(f"{FIRST}\n{written}".encode()).hexdigest()
    new = audit.append(entry(2, request="0123456789abcdef"))
    assert audit.page(AuditFilter(request="0123456789abcdef"), 9) == [new]
    assert audit.verify() == 2


@pytest.mark.parametrize("statement", ["UPDATE audit_entry SET who = 'nobody'", "DELETE FROM audit_entry"])
def test_the_table_refuses_its_owner_to_change_it(engine: Engine, owner: Engine, statement: str) -> None:
    SqlAuditStore(engine).append(entry())
    with pytest.raises(DBAPIError, match="append-only"), writing(owner) as transaction:
        transaction.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET who = 'nobody' WHERE position = 2",
        "UPDATE audit_entry SET request = '' WHERE position = 2",
        "DELETE FROM audit_entry WHERE position = 2",
    ],
)
def test_a_row_that_was_changed_or_taken_out_shows(engine: Engine, owner: Engine, statement: str) -> None:
    audit = SqlAuditStore(engine)
    for number in range(3):
        audit.append(entry(number, request=f"request-{number}"))
    # Whoever owns the database can take the triggers away first.
    with writing(owner) as transaction:
        if engine.dialect.name == "sqlite":
            triggers = {"update", "delete"}
            kept = [
                transaction.execute(
                    text(f"SELECT sql FROM sqlite_master WHERE name = 'audit_entry_no_{t}'")
                ).scalar_one()
                for t in sorted(triggers)
            ]
            for trigger in triggers:
                transaction.execute(text(f"DROP TRIGGER audit_entry_no_{trigger}"))
            transaction.execute(text(statement))
            for sql in kept:
                transaction.execute(text(sql))
        else:
            transaction.execute(text("SET LOCAL session_replication_role = replica"))
            transaction.execute(text(statement))
    with pytest.raises(AuditBroken):
        audit.verify()
