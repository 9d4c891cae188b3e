"""Providers from a mirror alone: the real Terraform, the vendor's provider for Hetzner, and a watched way out."""

import http.server
import json
import shutil
import socket
import ssl
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from controlplane.storage.certificates.authority import load_or_make
from providers.audits import CloudAudit
from providers.errors import ProviderNotMirrored, TerraformFailed
from providers.hetzner.cloud import HetznerCloud
from providers.networks import NetworkRunKind
from providers.tf.audit import audit
from providers.tf.mirror import IN_DATA_FOLDER, ProviderMirror, own_platform
from providers.tf.network_run import execute_network
from providers.tf.state_file import LocalStates
from tests.fakes.clouds.hetzner import TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE, in_place, write_settings
from tests.fakes.resources import instance, resources, surge, targets
from tests.standins.mirror import MODULES
from tests.terraform.hetznerlife import VERSION, HetznerBench, hcloud_plugins
from tests.terraform.networklife import NetworkBench
from tests.tools.hcloud.build import SOURCE

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

ONE = in_place(resources(instance("b-0")))
NOT_THERE = (
    rf"the mirror \S+ has no {SOURCE} {VERSION} for {own_platform()}, and with terraform\.mirror no registry is "
    r"asked\. "
    rf"Where a registry can be reached run `terraform -chdir={MODULES}/hetzner\S* providers mirror"
)


class WatchedWay:
    """What stands in HTTPS_PROXY: it notes whom it is to connect to, and connects nobody."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._note, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _note(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            with caller:
                self.asked.append(caller.recv(1000).decode("latin-1").partition("\r\n")[0] or "nobody")
                caller.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")


class Served(http.server.SimpleHTTPRequestHandler):
    """A mirror over HTTPS, by Terraform's protocol for them; `asked` are the paths."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def way(monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedWay]:
    watched = WatchedWay()
    monkeypatch.setenv("HTTPS_PROXY", watched.url)
    yield watched
    watched.close()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: WatchedWay) -> Iterator[HetznerBench]:
    """Whose own folder of plugins is empty: what this machine has elsewhere does not count."""
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    (tmp_path / "data" / IN_DATA_FOLDER).mkdir(parents=True)
    with fake_hetzner() as hetzner:
        settings = write_settings(tmp_path / "hetzner.yaml", hetzner, plugins=tmp_path / "data")
        yield HetznerBench(HetznerCloud("test", settings), hetzner, tmp_path / "states")


def there() -> Path:
    """The provider that `make setup` built, in a folder as mirrors are."""
    return hcloud_plugins() / IN_DATA_FOLDER


def from_mirror(bench: HetznerBench, place: Path | str) -> LocalStates:
    return LocalStates(bench.state_root, ProviderMirror.of(str(place)))


def packed(folder: Path) -> Path:
    """The same as one file, as `terraform providers mirror` writes it, with the indexes of a network mirror."""
    (unpacked,) = there().glob(f"*/{SOURCE}/{VERSION}/*")
    host = unpacked.parents[3].name
    into = folder / host / SOURCE
    into.mkdir(parents=True)
    name = f"terraform-provider-hcloud_{VERSION}_{unpacked.name}.zip"
    (program,) = unpacked.iterdir()
    with zipfile.ZipFile(into / name, "w") as archive:
        archive.write(program, program.name)
    (into / "index.json").write_text(json.dumps({"versions": {VERSION: {}}}))
    (into / f"{VERSION}.json").write_text(json.dumps({"archives": {unpacked.name: {"url": name}}}))
    return folder


def test_with_nothing_but_a_mirror_a_vm_is_made_and_nobody_else_is_asked(bench: HetznerBench, way: WatchedWay) -> None:
    made = bench.execute(surge(ONE), states=from_mirror(bench, there()))
    assert set(made.changed) == targets(ONE)
    assert [i.key for i in bench.listing().instances] == ["b-0.g1"]
    assert way.asked == []


def test_a_mirror_of_packed_providers_will_do_too(bench: HetznerBench, way: WatchedWay, tmp_path: Path) -> None:
    assert bench.execute(surge(ONE), states=from_mirror(bench, packed(tmp_path / "mirror"))).changed
    assert way.asked == []


def test_a_provider_the_mirror_lacks_is_named_and_no_registry_is_asked(
    bench: HetznerBench, way: WatchedWay, tmp_path: Path
) -> None:
    """The way out is seen: without a mirror the same `init` takes it."""
    empty = tmp_path / "mirror"
    empty.mkdir()
    with pytest.raises(ProviderNotMirrored, match=NOT_THERE):
        bench.execute(surge(ONE), states=from_mirror(bench, empty))
    assert (way.asked, bench.listing().instances) == ([], ())

    with pytest.raises(TerraformFailed):
        bench.execute(surge(ONE))
    assert any(line.startswith("CONNECT ") for line in way.asked), "with a registry it is asked"

    # Added to the mirror, the same run goes on.
    shutil.copytree(there(), empty, dirs_exist_ok=True)
    before = len(way.asked)
    assert bench.execute(surge(ONE), states=from_mirror(bench, empty)).changed
    assert len(way.asked) == before


def test_what_plugins_of_the_clouds_file_have_needs_no_place_in_the_mirror(
    bench: HetznerBench, way: WatchedWay, tmp_path: Path
) -> None:
    (tmp_path / "mirror").mkdir()
    shutil.copytree(there(), tmp_path / "data" / IN_DATA_FOLDER, dirs_exist_ok=True)
    assert bench.execute(surge(ONE), states=from_mirror(bench, tmp_path / "mirror")).changed
    assert way.asked == []


def test_audits_and_networks_have_the_same_mirror_and_no_other_way(
    bench: HetznerBench, way: WatchedWay, tmp_path: Path
) -> None:
    bench.execute(surge(ONE), states=from_mirror(bench, there()))
    shutil.rmtree(bench.state_root / "initialised")
    (tmp_path / "mirror").mkdir()
    common = {
        "provider": bench.cloud,
        "states": from_mirror(bench, tmp_path / "mirror"),
        "module_root": MODULES,
        "on_progress": bench.progress.append,
        "stop": threading.Event(),
    }
    with pytest.raises(ProviderNotMirrored, match=NOT_THERE):
        audit(CloudAudit(f"audit-{tmp_path.name}", ONE), **common)  # type: ignore[arg-type]
    wanted = NetworkBench(bench, PLACE).wanted(NetworkRunKind.MAKE, intent="made")
    with pytest.raises(ProviderNotMirrored, match=NOT_THERE):
        execute_network(wanted, **common)  # type: ignore[arg-type]
    assert way.asked == []


def test_other_contents_than_those_of_the_first_init_are_refused_whatever_mirror_has_them(
    bench: HetznerBench, way: WatchedWay, tmp_path: Path
) -> None:
    """The version is pinned, and the checksum is that of the package that came first: from then on it holds."""
    bench.execute(surge(ONE, intent="one"), states=from_mirror(bench, there()))
    other = tmp_path / "other"
    shutil.copytree(there(), other, symlinks=True)
    next(other.glob(f"*/{SOURCE}/{VERSION}/*")).joinpath("more").touch()
    two = in_place(resources(instance("b-0"), uid="uid-2"))
    with pytest.raises(
        TerraformFailed, match=r"(?s)lock file.*delete that file if other packages are meant"
    ) as refused:
        bench.execute(surge(two, intent="two"), states=from_mirror(bench, other))
    assert not isinstance(refused.value, ProviderNotMirrored), "it is there, and is another one"
    assert [i.cluster_uid for i in bench.listing().instances] == [ONE.cluster_uid]
    assert way.asked == []


def test_a_mirror_over_https_is_asked_and_nobody_else(
    bench: HetznerBench, way: WatchedWay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its certificate is judged as any: this one's authority is told by SSL_CERT_FILE."""
    now = datetime.now(UTC)
    authority = load_or_make(tmp_path, "mirror", now=now)
    issued = authority.issue(["localhost"], now=now)
    (tmp_path / "ca.pem").write_text(authority.pem)
    (tmp_path / "chain.pem").write_bytes(issued.chain_pem)
    (tmp_path / "key.pem").write_bytes(issued.key_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    Served.asked = []
    folder = packed(tmp_path / "mirror")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Served, directory=str(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "chain.pem", tmp_path / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://localhost:{server.server_port}"
    try:
        assert bench.execute(surge(ONE, intent="one"), states=from_mirror(bench, url)).changed
        assert [path for path in Served.asked if path.endswith(".zip")]
        shutil.rmtree(bench.state_root / "initialised")
        shutil.rmtree(folder)
        folder.mkdir()
        two = in_place(resources(instance("b-0"), uid="uid-2"))
        with pytest.raises(ProviderNotMirrored, match=f"the mirror {url}/ did not give {SOURCE} {VERSION}"):
            bench.execute(surge(two, intent="two"), states=from_mirror(bench, url))
    finally:
        server.shutdown()
        server.server_close()
    assert way.asked == []
