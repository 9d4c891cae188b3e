"""What an image has over Debian's packages: Kafka, the agent, settings; and nothing of a cloud or a person."""

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from controlplane.server.machine_images import contents
from controlplane.server.machine_images.refusal import ImageRefused
from providers.software import Download, Software


def a_jar(path: Path, *properties: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        for number, text in enumerate(properties):
            jar.writestr(f"META-INF/maven/{number}/pom.properties", text)
    return path


def a_kafka(folder: Path, version: str = "4.2.0") -> Path:
    a_jar(folder / "libs" / f"kafka-clients-{version}.jar")
    a_jar(
        folder / "libs" / "zstd-jni-1.5.6-10.jar", "#x\ngroupId=com.github.luben\nartifactId=zstd-jni\nversion=1.5.6-10"
    )
    return folder


def test_kafka_comes_from_apaches_archive_or_from_a_folder_and_is_the_same(tmp_path: Path) -> None:
    folder = a_kafka(tmp_path / "kafka_2.13-4.2.0")
    archive = tmp_path / "kafka_2.13-4.2.0.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    (tmp_path / "scratch").mkdir()
    one = contents.kafka_entries("4.2.0", folder, tmp_path / "scratch")
    other = contents.kafka_entries("4.2.0", archive, tmp_path / "scratch")
    assert list(one) == list(other)
    assert contents.jars_of(one) == contents.jars_of(other)
    assert "/opt/kedge/kafka/4.2.0/libs/kafka-clients-4.2.0.jar" in one


def test_jars_are_told_by_mavens_names_and_kafkas_own_by_theirs(tmp_path: Path) -> None:
    entries = contents.kafka_entries("4.2.0", a_kafka(tmp_path), tmp_path)
    clients, zstd = contents.jars_of(entries)
    assert (clients.coordinates, clients.version) == ("org.apache.kafka:kafka-clients", "4.2.0")
    assert (zstd.coordinates, zstd.version) == ("com.github.luben:zstd-jni", "1.5.6-10")


def test_a_jar_that_has_another_packed_into_it_goes_by_its_own_name(tmp_path: Path) -> None:
    inner = "groupId=org.slf4j\nartifactId=slf4j-api\nversion=2.0.1"
    jar = a_jar(tmp_path / "jolokia-agent-jvm-2.2.9-javaagent.jar", inner)
    (told,) = contents.jars_of({"/x": jar})
    assert (told.coordinates, told.version) == ("", "2.2.9-javaagent")


def test_another_kafka_no_kafka_and_no_archive_are_told(tmp_path: Path) -> None:
    with pytest.raises(ImageRefused, match=r"is not Kafka 4\.3\.0: it holds kafka-clients-4\.2\.0\.jar"):
        contents.kafka_entries("4.3.0", a_kafka(tmp_path / "k"), tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImageRefused, match="it holds no kafka-clients"):
        contents.kafka_entries("4.2.0", tmp_path / "empty", tmp_path)
    (tmp_path / "page.tgz").write_text("<html>not found</html>")
    with pytest.raises(ImageRefused, match=r"page\.tgz cannot be read") as told:
        contents.kafka_entries("4.2.0", tmp_path / "page.tgz", tmp_path)
    assert "kafka_2.13-VERSION.tgz" in told.value.next_step
    (tmp_path / "k" / "libs" / "odd.jar").write_text("no jar")
    with pytest.raises(ImageRefused, match=r"odd\.jar is not a jar"):
        contents.jars_of(contents.kafka_entries("4.2.0", tmp_path / "k", tmp_path))


def test_all_that_a_vm_would_fetch_lies_where_it_would_put_it(tmp_path: Path) -> None:
    """`providers/boot/install.py` fetches a part whose directory is not there; the agent's is named by its digest."""
    bundle = tmp_path / "kedge-agent-0.1.0-cp311-x86_64.tar.gz"
    source = tmp_path / "__init__.py"
    source.write_text("")
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(source, "agent/__init__.py")
    sha256 = hashlib.sha256(bundle.read_bytes()).hexdigest()
    download = Download.model_validate({"url": f"https://mirror.example/{bundle.name}", "sha256": sha256})
    agent, kafka = Software(agent=download, kafka={"4.2.0": download}).parts("4.2.0")
    entries = contents.agent_entries(bundle, sha256) | contents.kafka_entries(
        "4.2.0", a_kafka(tmp_path / "k"), tmp_path
    )
    assert f"{agent['directory']}/agent/__init__.py" in entries
    assert entries[agent["link"]] == contents.SymbolicLink(agent["directory"])
    assert any(path.startswith(f"{kafka['directory']}/libs/") for path in entries)


def test_contents_are_the_same_whenever_and_in_whatever_order_it_is_written(tmp_path: Path) -> None:
    jar = a_jar(tmp_path / "a.jar")
    entries: dict[str, contents.Content] = {"/b": b"text", "/a": contents.SymbolicLink("b"), "/c": jar}
    for name, told in (("one", entries), ("two", dict(reversed(entries.items())))):
        contents.write_contents(tmp_path / name, told, epoch=1764000000)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with tarfile.open(tmp_path / "one") as tar:
        assert [(m.name, m.mode, m.uid, m.mtime) for m in tar] == [(n, 0o644, 0, 1764000000) for n in "abc"]


def test_settings_name_the_root_and_no_other_clouds_than_those_kedge_knows() -> None:
    found = contents.settings_entries("11111111-2222-5333-8444-555555555555")
    texts = {path: text.decode() for path, text in found.items() if isinstance(text, bytes)}
    assert texts["/boot/grub/grub.cfg"].count("11111111-2222-5333-8444-555555555555") == 2
    assert "@" not in texts["/boot/grub/grub.cfg"]
    assert "vm.max_map_count=262144" in texts["/etc/sysctl.d/60-kedge.conf"]
    assert "PasswordAuthentication no" in texts["/etc/ssh/sshd_config.d/60-kedge.conf"]
    for cloud in ("Ec2", "GCE", "Azure", "DigitalOcean", "Hetzner", "UpCloud"):
        assert cloud in texts["/etc/cloud/cloud.cfg.d/95_kedge.cfg"]
