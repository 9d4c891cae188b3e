"""The SBOM of an image, in CycloneDX 1.6: Debian's packages, Kafka's jars and the agent's wheels.

Each has a package URL, by which scanners know it: `kedge images scan`, or any other that reads CycloneDX.
"""

import tarfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from controlplane.server.machine_images.contents import Jar
from controlplane.server.machine_images.manifest import Inputs, identifier
from controlplane.server.machine_images.packages import DebianPackage
from controlplane.server.machine_images.release import DISTRO
from controlplane.server.machine_images.sbom_reader import BUILT_USING


def sbom(inputs: Inputs, jars: Sequence[Jar], wheels: Sequence[tuple[str, str]]) -> str:
    """JSON, the same for the same inputs. `wheels`: name and version. Package URLs of Debian name the source package
    as `upstream`, as other writers do."""
    name = f"kedge-{inputs.kafka}-{inputs.architecture}"
    told = inputs.model_dump_json()
    top = Component(name=name, version=inputs.kafka, type=ComponentType.OPERATING_SYSTEM, bom_ref="image")
    document = Bom(
        components=[*map(_debian, inputs.packages), *map(_jar, jars), *_wheels(wheels)],
        serial_number=identifier("sbom", told),
        metadata=BomMetaData(component=top, timestamp=datetime.fromtimestamp(inputs.epoch, UTC)),
    )
    document.register_dependency(top, document.components)
    return JsonV1Dot6(document).output_as_string(indent=1) + "\n"


def _debian(one: DebianPackage) -> Component:
    source = one.source if one.source_version == one.version else f"{one.source}@{one.source_version}"
    qualifiers = {"arch": one.architecture, "distro": DISTRO, "upstream": source}
    purl = PackageURL("deb", "debian", one.name, one.version, qualifiers)
    component = _component(purl, sha256=one.sha256)
    component.properties.update(Property(name=BUILT_USING, value=used) for used in one.built_using)
    return component


def _jar(one: Jar) -> Component:
    group, _, artifact = one.coordinates.rpartition(":")
    purl = PackageURL("maven", group, artifact, one.version) if group else PackageURL("generic", None, one.name)
    return _component(purl, sha256=one.sha256)


def _wheels(found: Iterable[tuple[str, str]]) -> Iterator[Component]:
    for name, version in found:
        yield _component(PackageURL("pypi", None, name.lower().replace("_", "-"), version))


def _component(purl: PackageURL, *, sha256: str = "") -> Component:
    return Component(
        name=purl.name,
        group=purl.namespace,
        version=purl.version,
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else (),
    )


def wheels_in(bundle: Path) -> tuple[tuple[str, str], ...]:
    """Name and version of the Python packages an agent's archive holds, sorted."""
    found = set()
    with tarfile.open(bundle) as archive:
        for member in archive:
            if PurePosixPath(member.name).match("*.dist-info/METADATA") and (file := archive.extractfile(member)):
                told = HeaderParser().parsestr(file.read().decode())
                found.add((str(told["Name"]), str(told["Version"])))
    return tuple(sorted(found))
