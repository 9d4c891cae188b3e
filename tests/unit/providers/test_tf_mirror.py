"""A mirror of providers: what is said to Terraform, what it lacks, and what a person is told."""

import os
from pathlib import Path

import pytest

from controlplane.server.settings import ServerSettingsRefused, load_settings
from providers.errors import ProviderNotMirrored, TerraformFailed
from providers.tf.mirror import MirrorRefused, ProviderMirror, own_platform
from providers.tf.modules import module_root, pinned_providers

AWS = module_root() / "aws"
(PINNED,) = pinned_providers(AWS)
FAILED = TerraformFailed("terraform init ended with exit code 1", ["was not found in any of the search locations"])


def unpacked(folder: Path, host: str = "registry.terraform.io") -> Path:
    """A mirror with the provider of AWS, as `terraform init` keeps packages."""
    there = folder / host / "hashicorp" / "aws" / PINNED.version / own_platform()
    there.mkdir(parents=True)
    (there / "terraform-provider-aws").touch()
    return folder


def packed(folder: Path, platform: str = "") -> Path:
    """The same as `terraform providers mirror` writes it."""
    there = folder / "registry.terraform.io" / "hashicorp" / "aws"
    there.mkdir(parents=True)
    (there / f"terraform-provider-aws_{PINNED.version}_{platform or own_platform()}.zip").touch()
    return folder


def test_a_folder_is_the_only_way_to_providers_that_terraform_is_told(tmp_path: Path) -> None:
    mirror = ProviderMirror.of(str(tmp_path))
    assert mirror.configuration("") == (
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{tmp_path}"\n  }}\n}}\n'
    )


def test_a_url_is_too_and_ends_with_a_slash_as_terraform_wants_it() -> None:
    mirror = ProviderMirror.of("https://mirror.example/providers")
    assert 'network_mirror {\n    url = "https://mirror.example/providers/"' in mirror.configuration("")
    assert "direct" not in mirror.configuration("")


def test_what_a_clouds_file_names_as_plugins_counts_as_before_and_first(tmp_path: Path) -> None:
    """Terraform leaves out what it would find by itself where it is told of installations at all."""
    data = tmp_path / "data"
    (data / "terraform" / "plugins").mkdir(parents=True)
    told = ProviderMirror.of(str(tmp_path / "mirror")).configuration(f"{data}{os.pathsep}/not/there")
    places = [line.split('"')[1] for line in told.splitlines() if "path" in line]
    assert places == [str(data / "terraform" / "plugins"), str(tmp_path / "mirror")]


def test_signs_of_a_path_stay_signs(tmp_path: Path) -> None:
    odd = tmp_path / 'a "quoted" \\ one'
    assert 'a \\"quoted\\" \\\\ one"' in ProviderMirror.of(str(odd)).configuration("")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("http://mirror.example/", "is not over https"),
        ("https://", "is not an address of a mirror"),
        ("https://mirror.example/?a=b", "is not an address of a mirror"),
        ("https://ada:secret@mirror.example/", "no user and no password"),
        ("/srv/${mirror}", "would not take for a path"),
        ("/srv/mirror\n", "would not take for a path"),
    ],
)
def test_what_is_no_mirror_is_refused_with_the_settings(tmp_path: Path, told: str, why: str) -> None:
    with pytest.raises(ServerSettingsRefused, match=rf"KEDGE_TERRAFORM__MIRROR: .*{why}") as refused:
        load_settings(home=tmp_path, terraform_mirror=told)
    assert "secret" not in str(refused.value)


def test_a_relative_folder_is_of_where_the_server_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mirror = load_settings(home=tmp_path, terraform_mirror="mirror").terraform.provider_mirror
    assert mirror is not None
    assert mirror.folder == tmp_path / "mirror"
    assert load_settings(home=tmp_path).terraform.provider_mirror is None


def test_a_mirror_that_is_not_there_or_no_folder_is_refused_when_the_server_starts(tmp_path: Path) -> None:
    with pytest.raises(MirrorRefused, match=r"is not there.*`terraform providers mirror` \(docs/operating.md"):
        ProviderMirror.of(str(tmp_path / "nothing")).refuse_unusable()
    (tmp_path / "file").touch()
    with pytest.raises(MirrorRefused, match="is not a folder"):
        ProviderMirror.of(str(tmp_path / "file")).refuse_unusable()
    ProviderMirror.of(str(tmp_path)).refuse_unusable()
    ProviderMirror.of("https://mirror.example/").refuse_unusable()


def test_a_mirror_has_a_provider_packed_or_unpacked_for_whatever_host(tmp_path: Path) -> None:
    for folder in (unpacked(tmp_path / "one"), unpacked(tmp_path / "two", "another.example"), packed(tmp_path / "3")):
        assert ProviderMirror.of(str(folder)).lacking(AWS) == (), folder


def test_it_lacks_one_of_another_version_or_platform_and_one_that_is_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    other = unpacked(tmp_path / "other")
    version = other / "registry.terraform.io" / "hashicorp" / "aws" / PINNED.version
    version.rename(version.with_name("5.99.0"))
    hollow = unpacked(tmp_path / "hollow")
    next(hollow.rglob("terraform-provider-aws")).unlink()
    for folder in (tmp_path / "empty", other, hollow, packed(tmp_path / "arm", "plan9_mips")):
        assert ProviderMirror.of(str(folder)).lacking(AWS) == (PINNED,), folder
        told = ProviderMirror.of(str(folder)).explained(FAILED, AWS, "")
        assert isinstance(told, ProviderNotMirrored)
        assert str(told).splitlines() == [
            f"the mirror {folder} has no hashicorp/aws 5.100.0 for {own_platform()}, and with terraform.mirror no "
            f"registry is asked. Where a registry can be reached run `terraform -chdir={AWS} providers mirror "
            f"-platform={own_platform()} {folder}` (docs/operating.md, `Providers from a mirror`)",
            "was not found in any of the search locations",
        ]


def test_what_plugins_have_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    unpacked(tmp_path / "data" / "terraform" / "plugins")
    assert ProviderMirror.of(str(tmp_path / "mirror")).lacking(AWS, str(tmp_path / "data")) == ()


def test_an_error_that_has_another_reason_is_left_as_it_is(tmp_path: Path) -> None:
    full = ProviderMirror.of(str(unpacked(tmp_path / "full")))
    assert full.explained(FAILED, AWS, "") is FAILED
    local = module_root() / "local"
    assert ProviderMirror.of(str(tmp_path)).explained(FAILED, local, "") is FAILED, "it needs what is built in alone"
    other = TerraformFailed("terraform init ended", ["it matches none of the checksums in the lock file"])
    assert ProviderMirror.of("https://mirror.example/").explained(other, AWS, "") is other


def test_of_a_mirror_over_the_network_it_is_told_what_was_asked_of_it() -> None:
    told = ProviderMirror.of("https://mirror.example/").explained(FAILED, AWS, "")
    assert isinstance(told, ProviderNotMirrored)
    assert f"the mirror https://mirror.example/ did not give hashicorp/aws 5.100.0 for {own_platform()}" in str(told)
    assert str(told).endswith("was not found in any of the search locations")
    assert told.retryable, "it goes on by itself once the mirror has it"


@pytest.mark.parametrize("cloud", sorted(p.name for p in module_root().iterdir() if not p.name.startswith("local")))
def test_each_module_of_a_cloud_pins_one_provider_and_its_network_the_same(cloud: str) -> None:
    """So one command for each cloud mirrors all that Kedge runs."""
    assert len(pinned_providers(module_root() / cloud)) == 1
    assert pinned_providers(module_root() / cloud) == pinned_providers(module_root() / cloud.removesuffix("-network"))
