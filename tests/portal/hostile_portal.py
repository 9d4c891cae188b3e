"""The portal of `hostile_house`, served by a real uvicorn on loopback to a browser that is signed in."""

import threading
from dataclasses import replace

import uvicorn
from playwright.sync_api import BrowserContext

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.auth import cookie_name, loopback_hosts
from controlplane.portal.app import create_app
from controlplane.runtime.listen_addresses import listening
from tests.unit.controlplane.api.portal_house import House
from tests.waiting import until

START_WITHIN_S = 20.0


class HostilePortal:
    """A house at an address of its own. What others say of it is as the house was made."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.door = listening("127.0.0.1", 0)
        port = self.door.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.app = create_app(
            replace(house.services, access=replace(house.services.access, hosts=loopback_hosts("127.0.0.1", port)))
        )
        self._server = uvicorn.Server(uvicorn.Config(self.app, log_level="warning", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.door]}, daemon=True)

    def __enter__(self) -> "HostilePortal":
        self._thread.start()
        until(lambda: self._server.started, "the portal starts", timeout_s=START_WITHIN_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.app.state.feed.close()
        self._server.should_exit = True
        self._thread.join(timeout=20)

    def sign_in(self, context: BrowserContext) -> None:
        """As an administrator, by the cookie of a session."""
        name = cookie_name(self.house.services.access.installation.id)
        cookie = self.house.browser("ada", Binding("", Role.ADMIN, "*")).cookies[name]
        context.add_cookies([{"name": name, "value": cookie, "url": self.url}])
