"""`python -m providers.local VERB`: the other end of the Terraform module's provisioners, and the image builder.

A roll starts dozens of these, and for many the start is most of the work: what a verb does not need is imported
where it is needed.
"""

import json
import os
import sys

from providers.errors import ProviderError
from providers.local.errors import marked
from providers.local.verbs import REQUEST, VERBS, perform


def main(argv: list[str]) -> int:
    """Exit code 0: done (or was done before). 1: refused or failed, with the reason on stderr."""
    try:
        if len(argv) == 1 and argv[0] in VERBS and REQUEST in os.environ:
            perform(argv[0], json.loads(os.environ[REQUEST]))
        else:
            _serve_a_person(argv)
    except ProviderError as error:
        print(marked(error), file=sys.stderr)
        return 1
    return 0


def _serve_a_person(argv: list[str]) -> None:
    import argparse
    from pathlib import Path

    parser = argparse.ArgumentParser(prog="python -m providers.local", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="verb", required=True)
    for verb in VERBS:
        commands.add_parser(verb, help=f"called by Terraform; reads its request from {REQUEST}")
    image = commands.add_parser("image", help="fetch the jars of Kafka releases with Maven")
    image.add_argument("versions", nargs="+")
    image.add_argument("--cds", action="store_true", help="also archive loaded classes: VMs boot in half the time")
    image.add_argument("--mirror-maker", action="store_true", help="also what copies one cluster to another")
    image.add_argument("--cache", type=Path, default=Path(".cache"))
    reaper = commands.add_parser("reap", help="kill everything that runs below the root of a local cloud")
    reaper.add_argument("root", type=Path)
    arguments = parser.parse_args(argv)
    if arguments.verb == "image":
        from providers.local.image import build_cds, ensure_image, ensure_mirror_maker

        for version in arguments.versions:
            print(ensure_image(version, arguments.cache))
            if arguments.cds:
                print(build_cds(version, arguments.cache))
            if arguments.mirror_maker:
                print(ensure_mirror_maker(version, arguments.cache))
    elif arguments.verb == "reap":
        from providers.local.reap import reap

        print(f"{reap(arguments.root)} processes killed")
    else:
        parser.error(f"{arguments.verb} is for Terraform: its request is read from {REQUEST}, which is not set")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
