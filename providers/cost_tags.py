"""Cost tags: labels of a spec that the server's settings let through to clouds, by which a cloud's bill is told apart.

Nothing is encoded, cut or spelled another way: a bill is read by people and by other programs. What a cloud cannot hold
as it is written is refused, with the cloud's rule. `FORMS` has those rules, each with where it is from.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OWN = "kedge"
"""What Kedge's own tags begin with (`providers.tags`): whose a VM is hangs on them."""

MOST = 20
"""Labels on the list. AWS and Azure take 50 tags, Google 64 labels, and Kedge's own are among them."""


@dataclass(frozen=True, slots=True)
class TagForm:
    """What a cloud calls them, and what it takes. `reserved` are beginnings of names that are the cloud's own, in lower
    case; `rule` says key and value in words."""

    noun: str
    key: re.Pattern[str]
    value: re.Pattern[str]
    rule: str
    source: str
    reserved: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    """Names that Kedge gives a meaning of its own on that cloud, in lower case."""
    together: int = 0
    """Characters of key, colon and value, where they are one word; else 0."""


_PRINTABLE = r"[^\x00-\x1f\x7f]"

FORMS: Mapping[str, TagForm] = {
    "aws": TagForm(
        noun="tag",
        key=re.compile(r"[A-Za-z0-9 _.:/=+@-]{1,128}"),
        value=re.compile(r"[\w .:/=+@-]{0,256}"),
        rule="a key of 128 and a value of 256 letters, digits, spaces and _ . : / = + - @",
        source="EC2 User Guide, tag restrictions",
        reserved=("aws:",),
        taken=("name",),
    ),
    "google": TagForm(
        noun="label",
        key=re.compile(r"[a-z][a-z0-9_-]{0,62}"),
        value=re.compile(r"[a-z0-9_-]{0,63}"),
        rule="a key and a value of 63 lower-case letters, digits, _ and -, the key beginning with a letter",
        source="Compute Engine, requirements for labels",
        reserved=("goog",),
    ),
    "azure": TagForm(
        noun="tag",
        key=re.compile(r"[^\x00-\x1f\x7f<>%&\\?/]{1,512}"),
        value=re.compile(_PRINTABLE + "{1,256}"),
        rule=r"a key of 512 characters without < > % & \ ? / and a value of 1 to 256",
        source="Azure Resource Manager, tag resources, limitations",
        reserved=("microsoft", "azure", "windows"),
    ),
    "digitalocean": TagForm(
        noun="tag",
        key=re.compile(r"[a-z0-9_-]+"),
        value=re.compile(r"[a-z0-9:_-]+"),
        rule="`key:value` of 255 lower-case letters, digits, _ and -, the value also with : (two tags that differ by "
        "case only are one there)",
        source="DigitalOcean API reference, Tags",
        together=255,
    ),
    "upcloud": TagForm(
        noun="label",
        key=re.compile(r"(?!_)[\x20-\x7e]{2,32}"),
        value=re.compile(_PRINTABLE + "{0,255}"),
        rule="a key of 2 to 32 printable ASCII characters that begins with no _, and a value of 255",
        source="UpCloudLtd/upcloud 5.41.0, internal/utils/labels.go",
    ),
    "hetzner": TagForm(
        noun="label",
        key=re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"),
        value=re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"),
        rule="a key and a value of 63 letters, digits, _ . and -, with a letter or digit at both ends",
        source="docs.hetzner.cloud, Labels",
        reserved=("hetzner.cloud", "hcloud"),
    ),
}
"""By cloud. `local` has none: nobody is billed for it, and its VMs get no cost tags."""


def cost_tags(labels: Mapping[str, str], allowed: Iterable[str], cloud: str) -> dict[str, str]:
    """What VMs of a cloud carry of a spec's labels, sorted by key: those that are on the list and that it can hold."""
    if cloud not in FORMS:
        return {}
    listed = sorted(set(allowed) & labels.keys())
    return {key: labels[key] for key in listed if not misfit(cloud, key, labels[key])}


def misfit(cloud: str, key: str, value: str) -> str:
    """Why a cloud cannot hold that label as it is, "" where it can, and for one that gets no tags at all."""
    form = FORMS.get(cloud)
    if form is None:
        return ""
    lowered = key.lower()
    if lowered.startswith(OWN):
        return f"names that begin with `{OWN}` are Kedge's own"
    if beginning := next((one for one in form.reserved if lowered.startswith(one)), ""):
        return f"names that begin with `{beginning}` are reserved on {cloud}"
    if lowered in form.taken:
        return f"Kedge gives the {form.noun} `{key}` to each VM itself on {cloud}"
    if not form.key.fullmatch(key):
        return f"the key is no {form.noun} of {cloud}, which takes {form.rule}"
    if not form.value.fullmatch(value):
        return f"its value {value!r} is none of a {form.noun} of {cloud}, which takes {form.rule}"
    if form.together and len(f"{key}:{value}") > form.together:
        return f"key and value are longer than the {form.together} characters of a {form.noun} of {cloud}"
    return ""


def list_problem(allowed: Iterable[str]) -> str:
    """Why a list of the settings makes no sense, "" where it does: names that no spec may have put on a VM anywhere."""
    keys = list(allowed)
    if len(keys) > MOST:
        return f"{len(keys)} labels are more than the {MOST} that every cloud has room for beside Kedge's own"
    for key in keys:
        if not key or key != key.strip():
            return f"{key!r} is not a key of a label"
        reasons = [misfit(cloud, key, "x") for cloud in sorted(FORMS)]
        if all(reasons):
            return f"{key!r} can be put on nothing, on no cloud: {reasons[0]}"
    lowered = [key.lower() for key in keys]
    twice = sorted({key for key in lowered if lowered.count(key) > 1})
    if twice:
        return f"{twice[0]!r} is listed twice: most clouds and people take keys that differ by case for one"
    return ""
