"""What others name is text on every page: a cluster with hostile words in what brokers, clouds, people and VMs say."""

from html.parser import HTMLParser

from controlplane.portal.access.bindings import Binding
from controlplane.portal.access.roles import Role
from controlplane.streams import PROPOSALS, anomalies_stream
from events import facts
from events.anomaly_facts import AnomalyFound
from events.codec import encode
from events.envelope import Origin
from events.proposal_facts import ProposalMade
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.portal.page_routes import PAGE_ROUTES, filled
from tests.unit.controlplane.portal.portal_house import House, three_brokers
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

MARK = "h0stile"
HOSTILE = f"""{MARK}"'><img src={MARK} onerror=alert(1)><script>{MARK}()</script>{{{{7*7}}}}"""


class Seen(HTMLParser):
    """What a browser would make of a page: elements with the mark in them, handlers, and text with the mark."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.made: list[str] = []
        self.is_told = False
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        self.is_told = self.is_told or any(MARK in (value or "") for _, value in attrs)
        for name, value in attrs:
            is_link = name in ("href", "src", "action", "formaction") and (value or "").lower().startswith(
                "javascript:"
            )
            if name.startswith("on") or MARK in name or is_link or (tag == "img" and MARK in (value or "")):
                self.made.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.is_told = self.is_told or MARK in data
        if self._inside and MARK in data:
            self.made.append(f"<{self._inside}> {data[:80]!r}")
        if "49" in data and MARK in data:
            self.made.append(f"a template: {data!r}")


def hostile_house() -> House:
    """`orders`, whose every foreign field that a fold, a snapshot or a person can bring in is HOSTILE."""
    house = House()
    house.apply(OURS)
    planned = three_brokers()
    house.surge(*planned)
    launched = tuple(facts.LaunchedInstance(p.key, HOSTILE, f"127.64.0.{n}") for n, p in enumerate(planned, 10))
    house.record(facts.SurgeCompleted("intent-1", launched, {}))
    house.record(*(facts.InstanceJoined(p.key, p.service_id) for p in planned))
    house.record(facts.ConditionChanged("Blocked", True, "NoRoom", HOSTILE), facts.ClusterPaused(HOSTILE, None))
    house.record(facts.RollingRestartRequested("r1", ("brokers-a-0.g1",), HOSTILE))
    house.snapshots[house.view().uid] = a_snapshot(
        a_partition(f"{HOSTILE}-0", (1000, 1001)), a_partition("payments-0", (1001, 1002))
    )
    found = AnomalyFound("orders-1", "orders", "slow-broker", HOSTILE, HOSTILE, "waiting", HOSTILE)
    house.store.append(
        anomalies_stream(house.view().uid), [encode(found, "slow")], expected_version=0, origin=Origin(HOSTILE)
    )
    made = ProposalMade(
        id="waiting1",
        change="delete",
        clusters=("orders",),
        topic="",
        text="",
        file=HOSTILE,
        message=HOSTILE,
        digest=HOSTILE,
        reasons=(HOSTILE,),
        author=f"user:{HOSTILE}",
        claimed=HOSTILE,
        source=f"git:{HOSTILE}",
        via="session",
        commit=HOSTILE,
        expires_at=house.now,
    )
    house.store.append(PROPOSALS, [encode(made, "p1")], expected_version=0, origin=Origin(HOSTILE))
    house.client.post(f"/v1/users/{'x' + HOSTILE[:40].replace('/', '')}/disable")
    house.app.state.tailer.close()
    return house


def test_what_others_name_is_text_on_every_page() -> None:
    told = []
    with hostile_house().one_loop() as house:
        browser = house.browser("ada", Binding("", Role.ADMIN, "*"))
        for method, path in PAGE_ROUTES:
            if method != "GET" or path.endswith(".csv"):
                continue
            answer = browser.get(filled(path), params={"q": MARK} if path == "/search" else None)
            assert answer.status_code < 500 or answer.status_code == 503, f"{path}: {answer.status_code}"
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            seen = Seen()
            seen.feed(answer.text)
            assert seen.made == [], path
            told += [path] if seen.is_told else []
    pages = {f"/clusters/{{name}}/{tab}" for tab in ("brokers/{broker}", "rollout", "diff", "groups", "moves", "past")}
    pages |= {
        "/",
        "/clusters/{name}",
        "/clusters/{name}/brokers",
        "/clusters/{name}/topics",
        "/clusters/{name}/history",
    }
    pages |= {"/clusters/{name}/anomalies", "/proposals", "/proposals/{number}", "/events", "/audit", "/search"}
    assert pages <= set(told), f"told on {sorted(told)}"


def test_the_judge_of_pages_sees_what_a_name_would_make() -> None:
    for page in (f"<p>{HOSTILE}</p>", f"<p title='{HOSTILE}'></p>", f"<script>x = {MARK}</script>", f"<p>{MARK}49</p>"):
        seen = Seen()
        seen.feed(page)
        assert seen.made, page
