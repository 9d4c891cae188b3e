"""What VMs of real clouds are born with: the files, the units, the limits, and what installs the rest."""

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from providers.aws.settings import AwsSettings
from providers.boot import install
from providers.cloud_init import BOOT_FILE, LIMIT_BYTES, born_with, user_data
from providers.errors import PlaceUnknown
from providers.google.settings import GoogleSettings
from providers.hetzner.settings import HetznerSettings
from providers.software import Software
from providers.upcloud.settings import UpcloudSettings
from providers.variables import ANY, chosen_image
from tests.fakes.resources import instance

SHA = "ab" * 32
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ada@example.com"
TOLD: dict[str, Any] = {
    "agent": {"url": "https://mirror.example/kedge-agent.tar.gz", "sha256": SHA},
    "kafka": {"4.2.0": {"url": "https://mirror.example/kafka_2.13-4.2.0.tgz", "sha256": SHA}},
    "jolokia": {"url": "https://mirror.example/jolokia-agent-jvm-2.3.0-javaagent.jar", "sha256": SHA},
}
SOFTWARE = Software.model_validate(TOLD)
BOOT_DATA = json.dumps({"token": "t" * 64})


def cloud_config(text: str) -> dict[str, Any]:
    assert text.startswith("#cloud-config\n")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


def files(text: str) -> dict[str, str]:
    return {f["path"]: f["content"] for f in cloud_config(text)["write_files"]}


def test_the_same_intent_is_the_same_text_and_far_below_what_clouds_take() -> None:
    told = user_data(BOOT_DATA, kafka_version="4.2.0", software=SOFTWARE)
    assert told == user_data(BOOT_DATA, kafka_version="4.2.0", software=SOFTWARE)
    assert len(told.encode()) < LIMIT_BYTES


def test_public_keys_are_of_the_images_own_user_and_without_any_not_a_byte_is_another() -> None:
    plain = born_with(instance("b-0"), None)
    keyed = born_with(instance("b-0"), None, ssh_keys=(KEY,))
    assert plain == born_with(instance("b-0"), None, ssh_keys=())
    assert "ssh_authorized_keys" not in plain
    assert cloud_config(keyed) == {**cloud_config(plain), "ssh_authorized_keys": [KEY]}


@pytest.mark.parametrize("settings", [AwsSettings, GoogleSettings, HetznerSettings, UpcloudSettings])
@pytest.mark.parametrize(
    "wrong",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ssh-ed25519",
        'command="reboot" ssh-ed25519 AAAA',
        "ssh-ed25519 AAAA ada\nssh-ed25519 AAAA eve",
    ],
)
def test_what_is_no_line_with_one_public_key_is_refused(settings: Any, wrong: str) -> None:
    with pytest.raises(ValidationError, match="ssh_keys"):
        settings.model_validate({"accounts": {"production": {"ssh_keys": [wrong]}}})


def test_only_root_may_read_the_boot_data_which_holds_a_token() -> None:
    (boot,) = [f for f in cloud_config(born_with(instance("b-0"), None))["write_files"] if f["path"] == BOOT_FILE]
    assert (boot["content"], boot["permissions"]) == (instance("b-0").boot_data, "0600")


def test_an_image_that_has_everything_gets_the_agents_unit_and_installs_nothing() -> None:
    told = user_data(BOOT_DATA, kafka_version="4.2.0", software=None, own_disks="root")
    unit, kernel = "/etc/systemd/system/kedge-agent.service", "/etc/sysctl.d/60-kedge.conf"
    assert set(files(told)) == {BOOT_FILE, "/etc/kedge/agent.env", unit, kernel}
    assert ["systemctl", "enable", "kedge-agent.service"] in cloud_config(told)["runcmd"]
    environment = dict(line.split("=") for line in files(told)["/etc/kedge/agent.env"].splitlines())
    assert (environment["KEDGE_AGENT_DISKS"], environment["KEDGE_AGENT_OWN_DISKS"]) == ("devices", "root")


def test_kafka_has_descriptors_and_map_areas_and_is_not_swapped_out() -> None:
    """Of a service the agent starts: limits of its unit are handed down to it."""
    told = user_data(BOOT_DATA, kafka_version="4.2.0", software=None)
    assert files(told)["/etc/sysctl.d/60-kedge.conf"] == "vm.max_map_count=262144\nvm.swappiness=1\n"
    assert ["systemctl", "restart", "systemd-sysctl.service"] in cloud_config(told)["runcmd"]
    assert "LimitNOFILE=1048576" in files(told)["/etc/systemd/system/kedge-agent.service"]


def test_kafka_has_a_user_of_its_own_that_is_there_before_the_agent_starts() -> None:
    told = user_data(BOOT_DATA, kafka_version="4.2.0", software=None)
    assert "KEDGE_AGENT_RUN_AS=kedge-kafka\n" in files(told)["/etc/kedge/agent.env"]
    assert "KEDGE_AGENT_PROMETHEUS=127.0.0.1:9404\n" in files(told)["/etc/kedge/agent.env"]
    make_user, *_, start = cloud_config(told)["runcmd"]
    assert make_user[:2] == ["sh", "-c"]
    assert make_user[2].startswith("id kedge-kafka >/dev/null 2>&1 || useradd -u 59092 --system ")
    assert start[:2] == ["systemctl", "start"]


def test_a_plain_image_fetches_the_agent_its_kafka_and_jolokia_by_checksum() -> None:
    wanted = json.loads(
        files(user_data(BOOT_DATA, kafka_version="4.2.0", software=SOFTWARE))["/etc/kedge/software.json"]
    )
    assert [p.get("directory") or p["file"] for p in wanted["parts"]] == [
        f"/opt/kedge/agent/{SHA[:16]}",
        "/opt/kedge/kafka/4.2.0",
        "/opt/kedge/kafka/4.2.0/libs/jolokia-agent-jvm-2.3.0-javaagent.jar",
    ]
    assert {p["sha256"] for p in wanted["parts"]} == {SHA}
    assert wanted["packages"] == {"java": "openjdk-17-jre-headless", "mkfs.xfs": "xfsprogs"}


def test_a_version_the_mirror_has_not_is_refused_before_any_vm_is_made() -> None:
    with pytest.raises(PlaceUnknown, match=r"no Kafka 4\.1\.1; its mirror has 4\.2\.0"):
        born_with(replace(instance("b-0"), image="4.1.1"), SOFTWARE)


def test_a_text_no_cloud_would_take_is_refused() -> None:
    with pytest.raises(PlaceUnknown, match="no cloud takes more than"):
        user_data("x" * LIMIT_BYTES, kafka_version="4.2.0", software=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent": {"url": "ftp://mirror/agent", "sha256": SHA}},
        {"agent": {"url": "https://mirror/agent", "sha256": "short"}},
        {"kafka": {}},
        {"kafka": {"../4.2.0": TOLD["kafka"]["4.2.0"]}},
        {"java": "java; rm -rf /"},
        {"java_package": "$(id)"},
        {"filesystem": "btrfs"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_settings_that_no_vm_could_use_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Software.model_validate({**TOLD, **wrong})


def test_an_image_of_its_own_version_goes_before_the_one_for_any() -> None:
    images = {"4.2.0": "own", ANY: "plain"}
    assert chosen_image(replace(instance("b-0"), image="4.2.0"), images, "none") == "own"
    assert chosen_image(replace(instance("b-0"), image="4.1.1"), images, "none") == "plain"
    assert chosen_image(replace(instance("b-0"), image="4.1.1"), {"4.2.0": "own"}, "none") == "none"


# --- install.py, on files instead of a mirror -----------------------------------------------------------------------


def archive(path: Path, **entries: str) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in entries.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def part(source: Path, **more: str) -> dict[str, str]:
    return {"url": source.as_uri(), "sha256": hashlib.sha256(source.read_bytes()).hexdigest(), **more}


def wanted(tmp_path: Path, *parts: dict[str, str]) -> str:
    path = tmp_path / "software.json"
    path.write_text(json.dumps({"packages": {"sh": "dash"}, "parts": parts}))
    return str(path)


def test_parts_are_put_where_they_belong_and_a_second_time_nothing_is_done(tmp_path: Path) -> None:
    kafka = archive(tmp_path / "kafka.tgz", kafka_2__libs__kafka_2jar="jar")
    agent = archive(tmp_path / "agent.tgz", agent__main="code")
    jar = tmp_path / "jolokia.jar"
    jar.write_text("jolokia")
    into = tmp_path / "opt"
    told = wanted(
        tmp_path,
        part(agent, directory=f"{into}/agent/1", link=f"{into}/agent/current"),
        part(kafka, directory=f"{into}/kafka/4.2.0", strip="1"),
        part(jar, file=f"{into}/kafka/4.2.0/libs/jolokia.jar"),
    )
    assert install.main(told) == 0
    assert (into / "agent" / "current" / "agent" / "main").read_text() == "code"
    assert {p.name for p in (into / "kafka/4.2.0/libs").iterdir()} == {"kafka_2jar", "jolokia.jar"}
    for source in (kafka, agent, jar):
        source.unlink()
    assert install.main(told) == 0
    assert not [p for p in into.rglob("*") if p.name.startswith(".")]


def test_a_new_agent_beside_the_old_one_takes_the_link_over(tmp_path: Path) -> None:
    link = str(tmp_path / "agent" / "current")
    for number in ("1", "2"):
        source = archive(tmp_path / f"agent{number}.tgz", main=number)
        install.main(wanted(tmp_path, part(source, directory=str(tmp_path / "agent" / number), link=link)))
        assert (Path(link) / "main").read_text() == number


def test_other_bytes_than_those_that_were_meant_are_thrown_away(tmp_path: Path) -> None:
    source = archive(tmp_path / "kafka.tgz", a="b")
    told = wanted(tmp_path, {**part(source, directory=f"{tmp_path}/opt/kafka"), "sha256": SHA})
    with pytest.raises(install.Wrong, match="nothing of it was used"):
        install.main(told)
    assert list((tmp_path / "opt").iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/cron.d/x", "a/../../x"])
def test_an_archive_that_leads_out_of_its_directory_is_refused(tmp_path: Path, name: str) -> None:
    source = archive(tmp_path / "bad.tgz", **{name: "x"})
    with pytest.raises(install.Wrong, match="is not a plain file inside it"):
        install.main(wanted(tmp_path, part(source, directory=f"{tmp_path}/opt/kafka")))
    assert not (tmp_path / "opt" / "kafka").exists()


def test_what_an_interrupted_run_left_beside_is_made_anew(tmp_path: Path) -> None:
    source = archive(tmp_path / "kafka.tgz", a="whole")
    (tmp_path / "opt" / ".kafka.unpacked" / "half").mkdir(parents=True)
    (tmp_path / "opt" / ".kafka.part").write_text("half")
    install.main(wanted(tmp_path, part(source, directory=f"{tmp_path}/opt/kafka")))
    assert [p.name for p in (tmp_path / "opt").iterdir()] == ["kafka"]
    assert [p.name for p in (tmp_path / "opt" / "kafka").iterdir()] == ["a"]
