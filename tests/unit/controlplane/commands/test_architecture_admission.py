"""A machine whose processor no image, or no agent, is for, or a Kafka its mirror has not, is refused at once."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.images import ImageView
from controlplane.commands.admission.spec import Unbootable, admission_problems
from controlplane.server.clouds import unbootable_in
from events import facts
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.problems import Problem
from providers.base import CloudProvider
from providers.errors import PlaceUnknown
from providers.registry import load
from tests.builders import NOW
from tests.changed_view import changed_view

EXAMPLE = (Path(__file__).parents[4] / "examples" / "aws-orders.yaml").read_text()
ARM = EXAMPLE.replace("account: production", "account: default")
"""Its machines are `small`, which is of arm64, and `r7g.xlarge`."""

SETTINGS = """\
accounts:
  default:
    id: "123456789012"
    regions:
      eu-west-1:
        subnets: {eu-west-1a: subnet-0000000a, eu-west-1b: subnet-0000000b, eu-west-1c: subnet-0000000c}
        security_groups: [sg-0000000a]
        images: IMAGES
"""
SOFTWARE = f"""\
software:
  agent: {{url: "http://mirror/kedge-agent-0.1.0-cp311-x86_64.tar.gz", sha256: {"a" * 64}}}
  kafka: {{VERSION: {{url: "http://mirror/kafka.tgz", sha256: {"b" * 64}}}}}
"""
VIEW = replace(ClusterView(ClusterUid("c0ffee")), name="orders-prod")
X86 = "{'%s': {x86_64: ami-0000000a}}"


def _version(text: str) -> str:
    return load_documents(text.encode(), file="orders.yaml").documents[0].spec.kafka.version


def _asking(folder: Path, images: str, more: str = "") -> Unbootable:
    (folder / "aws.yaml").write_text(SETTINGS.replace("IMAGES", images) + more)
    cloud = load("aws", installation_id="test", settings_file=folder / "aws.yaml")
    return partial(unbootable_in, {"aws": cloud}.__getitem__)


def _problems(text: str, unbootable: Unbootable, view: ClusterView = VIEW) -> list[Problem]:
    loaded = load_documents(text.encode(), file="orders.yaml")
    assert loaded.problems == ()
    return admission_problems(
        view, loaded.documents[0], positions=loaded.positions[0], snapshot=None, unbootable=unbootable
    )


def test_a_machine_without_an_image_for_its_processor_is_refused_where_it_is_written(tmp_path: Path) -> None:
    found = _problems(ARM, _asking(tmp_path, X86 % _version(ARM)))
    assert {(one.code, one.severity) for one in found} == {("KEDGE-SPEC-039", "error")}
    assert len(found) == ARM.count("machine:")
    for one in found:
        assert "machine:" in ARM.splitlines()[one.line - 1]
        assert f"is arm64, and in aws/default/eu-west-1 aws.yaml has images of Kafka {_version(ARM)} for x86_64" in (
            one.message
        )
        assert "fix aws.yaml" in one.fix


@pytest.mark.parametrize("kafka", ["of that version", "any"])
def test_an_image_for_its_processor_is_enough(kafka: str, tmp_path: Path) -> None:
    version = _version(ARM) if kafka == "of that version" else "any"
    assert _problems(ARM, _asking(tmp_path, f"{{'{version}': {{x86_64: ami-0000000a, arm64: ami-0000000b}}}}")) == []


def test_a_cluster_that_follows_revisions_is_held_to_the_one_it_would_get(tmp_path: Path) -> None:
    """With `preset: production` every new one follows; without a revision its VMs are those of the cloud's settings."""
    asking = _asking(tmp_path, X86 % _version(ARM))
    loaded = load_documents(ARM.encode(), file="orders.yaml")
    assert loaded.documents[0].spec.kafka.image.follow == "security"
    images = (facts.RegionImage("aws", "eu-west-1", "arm64", "ami-0000000b"),)
    chosen = facts.ImageChosen(_version(ARM), 1, images, "", "", "", "the newest")
    told = partial(
        admission_problems,
        VIEW,
        loaded.documents[0],
        positions=loaded.positions[0],
        snapshot=None,
        unbootable=asking,
    )
    assert told(image_for=lambda view: chosen) == []
    assert told() != []


def test_an_alternative_of_another_processor_is_refused_where_it_is_written(tmp_path: Path) -> None:
    text = ARM.replace("machine: r7g.xlarge", "machine: r7g.xlarge\n      alternatives: [m7i.xlarge]")
    (found,) = _problems(text, _asking(tmp_path, f"{{'{_version(ARM)}': {{arm64: ami-0000000b}}}}"))
    assert "machine 'm7i.xlarge' is x86_64" in found.message
    assert "alternatives:" in text.splitlines()[found.line - 1]


def test_an_agent_built_for_another_processor_is_told(tmp_path: Path) -> None:
    software = SOFTWARE.replace("VERSION", _version(ARM))
    images = f"{{'{_version(ARM)}': {{arm64: ami-0000000b}}}}"
    found = _problems(ARM, _asking(tmp_path, images, software))
    assert found
    assert all("`software.agent` of aws.yaml is for x86_64" in one.message for one in found)
    other = software.replace("cp311-x86_64", "cp311-aarch64")
    assert _problems(ARM, _asking(tmp_path, images, other)) == []


def test_a_version_that_the_mirror_has_not_is_refused_where_it_would_be_asked_for(tmp_path: Path) -> None:
    """It was declared, and found amid the roll by the first VM that could not be rendered."""
    other = SOFTWARE.replace("VERSION", "3.9.1").replace("cp311-x86_64", "cp311-aarch64")
    images = f"{{'{_version(ARM)}': {{arm64: ami-0000000b}}}}"
    found = _problems(ARM, _asking(tmp_path, images, other))
    assert found
    for one in found:
        assert f"`software.kafka` of aws.yaml has no Kafka {_version(ARM)} for its VMs; it has 3.9.1" in one.message


def test_a_build_of_ones_own_needs_vms_that_fetch_and_no_archive_of_the_mirror(tmp_path: Path) -> None:
    version, images = _version(ARM), f"{{'{_version(ARM)}': {{arm64: ami-0000000b}}}}"
    own = f"distribution: {{url: 'https://mirror.example/kafka.tgz', sha256: '{'c' * 64}'}}"
    text = ARM.replace(f"version: {version}", f"version: {version}\n    {own}")
    other = SOFTWARE.replace("VERSION", "3.9.1").replace("cp311-x86_64", "cp311-aarch64")
    assert _problems(text, _asking(tmp_path, images, other)) == [], "its mirror has another version only"
    found = _problems(text, _asking(tmp_path, images))
    assert found
    for one in found:
        assert "VMs there fetch nothing: aws.yaml has no `software`" in one.message


def test_what_the_settings_do_not_tell_refuses_nobody(tmp_path: Path) -> None:
    """No image yet, another region, no such file: each is told by others, or by the cloud."""

    def no_file(_: str) -> CloudProvider:
        raise PlaceUnknown("no cloud `aws` here")

    assert _problems(ARM, _asking(tmp_path, "{}")) == []
    assert _problems(ARM.replace("eu-west-1", "eu-central-1"), _asking(tmp_path, X86 % _version(ARM))) == []
    assert _problems(ARM, partial(unbootable_in, no_file)) == []


def test_what_stands_waits_for_no_settings_file_but_a_pool_that_gets_new_vms_does(tmp_path: Path) -> None:
    document = load_documents(ARM.encode(), file="orders.yaml").documents[0]
    status, asked = replace(VIEW, document=document, generation=1), _asking(tmp_path, X86 % _version(ARM))
    assert _problems(ARM, asked, status) == []
    found = _problems(ARM.replace("machine: r7g.xlarge", "machine: r7g.2xlarge"), asked, status)
    assert ["'r7g.2xlarge'" in one.message for one in found if one.code == "KEDGE-SPEC-039"] == [True]


def test_the_revision_of_the_catalogue_goes_before_the_settings(tmp_path: Path) -> None:
    document = load_documents(ARM.encode(), file="orders.yaml").documents[0]

    def given(architecture: str) -> ClusterView:
        image = facts.RegionImage("aws", "eu-west-1", architecture, "ami-0000000c")
        chosen = facts.ImageChosen(_version(ARM), 3, (image,), "", "", "", "notes")
        return changed_view(VIEW, document=document, generation=1, image=ImageView(chosen, NOW))

    text = ARM.replace("machine: r7g.xlarge", "machine: r7g.2xlarge")
    asked = _asking(tmp_path, X86 % _version(ARM))
    assert _problems(text, asked, given("arm64")) == []
    (found,) = _problems(text, asked, given("x86_64"))
    assert "its revision has images for x86_64 alone" in found.message
