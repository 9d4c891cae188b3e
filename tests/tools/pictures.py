"""The pictures of the manual, taken of a running demo: `make demo KEEP=1` in one terminal, `make pictures` in another.

    python -m tests.tools.pictures [--home .kedge/demo] [--out docs/images] [NAME ...]

A restart and a paused VM are asked for on the way, as people would; both are over by themselves. Look at each picture.
The plan of a drain is taken by the journeys (tests/portal/test_portal_journeys.py): three brokers have no room for one.
"""

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect, sync_playwright

from tests.portal.pictured import keep_picture

WIDE = {"width": 1280, "height": 800}
SOON_MS, ROLL_MS = 150_000, 420_000
PAUSED_S = 100.0
"""Longer than a replica may be behind before it is out of sync, and than Kafka of a cluster at rest is left unread."""


class NoDemo(Exception):
    """There is nothing to take pictures of. Says what to do."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A portal with a cluster in it, open in a browser that has signed in. `api` speaks as the home's token."""

    page: Page
    url: str
    api: httpx.Client
    cluster: str

    def go(self, path: str) -> None:
        """Opens a page."""
        answer = self.page.goto(f"{self.url}{path}")
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"

    def home(self, tail: str = "") -> str:
        """The path of a page of the cluster."""
        return f"/clusters/{self.cluster}{tail}"

    def ask(self, tail: str) -> Any:
        """What the API says of the cluster."""
        answer = self.api.get(f"/v1/clusters/{self.cluster}{tail}")
        answer.raise_for_status()
        return answer.json()

    def topic(self) -> str:
        """The largest topic of people."""
        topics = [t for t in self.ask("/topics")["topics"] if not t["internal"] and t["observed"]]
        if not topics:
            raise NoDemo(f"{self.cluster} has no topic yet: try again in a minute")
        return str(max(topics, key=lambda t: t["observed"]["size_bytes"] or 0)["name"])


def fleet(demo: Demo) -> None:
    """The list of clusters."""
    demo.go("/")
    expect(demo.page.get_by_role("link", name=demo.cluster, exact=True).first).to_be_visible()


def change(demo: Demo) -> None:
    """A setting that is changed in the form, before the yes."""
    demo.go(demo.home("/change"))
    settings = demo.page.get_by_label("Kafka settings")
    settings.fill(settings.input_value().rstrip() + "\nlog.retention.hours: 24")
    demo.page.get_by_role("button", name="Preview the plan").click()
    expect(demo.page.locator("pre .is").first).to_be_visible()


def rollout(demo: Demo) -> None:
    """A rolling restart on its timeline, which begins once the broker that stood still is back."""
    sent = demo.api.post(f"/v1/clusters/{demo.cluster}/restart", json={"reason": "for a picture"})
    sent.raise_for_status()
    demo.go(demo.home("/rollout"))
    expect(demo.page.locator("#timeline td.now").first).to_be_visible(timeout=ROLL_MS)


def topic(demo: Demo) -> None:
    """A topic while a broker stands still: drawn anew by itself when Kafka is read."""
    demo.go(demo.home(f"/topics/{demo.topic()}"))
    table = demo.page.get_by_role("region", name="Partitions")
    expect(table.locator(".isr .out")).to_have_count(0, timeout=SOON_MS)
    broker = demo.ask("/brokers")["brokers"][-1]
    order = {"fault": "pause", "for_s": PAUSED_S, "vms": [broker["key"]], "reason": "for a picture"}
    demo.api.post(f"/v1/clusters/{demo.cluster}/chaos", json=order).raise_for_status()
    expect(table.locator(".isr .out").first).to_be_visible(timeout=SOON_MS)


PICTURES: dict[str, Callable[[Demo], None]] = {one.__name__: one for one in (fleet, change, topic, rollout)}
"""By name, in an order in which none disturbs the ones after it."""


def take(demo: Demo, names: list[str], out: Path) -> list[Path]:
    """Takes them. Raises what Playwright raises where a page does not show in time what it is to show."""
    taken = []
    for name, pose in PICTURES.items():
        if not names or name in names:
            pose(demo)
            taken.append(keep_picture(demo.page, out, name))
    return taken


def first_password(log: str) -> str:
    """As the server told it at its first start. Raises NoDemo."""
    found = re.search(r"sign in as admin with the password (\S+)", log)
    if found is None:
        raise NoDemo("the server's log has no first password: this is not a demo's home")
    return found[1]


def sign_in(page: Page, url: str, password: str) -> None:
    """By the form, as people do."""
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda address: "/login" not in address)


def main(arguments: list[str]) -> int:
    """Exit status 1 where no demo runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.pictures")
    parser.add_argument("--home", type=Path, default=Path(".kedge/demo"))
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES])
    asked = parser.parse_args(arguments)
    try:
        for file in _of_home(asked.home, asked.names, asked.out):
            print(file)
    except (NoDemo, OSError, httpx.HTTPError) as error:
        print(f"no pictures: {error}\nstart one with `make demo KEEP=1`, and wait for its end", file=sys.stderr)
        return 1
    return 0


def _of_home(home: Path, names: list[str], out: Path) -> list[Path]:
    url = str(json.loads((home / "server.json").read_text())["url"])
    password = first_password((home / "server.log").read_text(errors="replace"))
    headers = {"Authorization": f"Bearer {(home / 'token').read_text().strip()}"}
    path = os.environ.get("KEDGE_CHROMIUM") or shutil.which("chromium")
    if path is None:
        raise NoDemo("install chromium: apt-get install --no-install-recommends chromium")
    with httpx.Client(base_url=url, headers=headers, timeout=60) as api, sync_playwright() as playwright:
        clusters = api.get("/v1/clusters").raise_for_status().json()
        if not clusters:
            raise NoDemo("no cluster is declared there yet")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(30_000)
        sign_in(page, url, password)
        taken = take(Demo(page, url, api, clusters[0]["name"]), names, out)
        browser.close()
        return taken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
