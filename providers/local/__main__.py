"""`python -m providers.local VERB`: the other end of the Terraform module's provisioners, and the image builder."""

import argparse
import json
import os
import sys
from pathlib import Path

from providers.errors import ProviderError
from providers.local.errors import marked
from providers.local.reap import REQUEST, reap
from providers.local.verbs import VERBS, perform


def main(argv: list[str]) -> int:
    """Exit code 0: done (or was done before). 1: refused or failed, with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m providers.local", description=__doc__)
    commands = parser.add_subparsers(dest="verb", required=True)
    for verb in VERBS:
        commands.add_parser(verb, help=f"called by Terraform; reads its request from {REQUEST}")
    image = commands.add_parser("image", help="fetch the jars of Kafka releases with Maven")
    image.add_argument("versions", nargs="+")
    image.add_argument("--cds", action="store_true", help="also archive loaded classes: VMs boot in half the time")
    image.add_argument("--cache", type=Path, default=Path(".cache"))
    reaper = commands.add_parser("reap", help="kill everything that runs below the root of a local cloud")
    reaper.add_argument("root", type=Path)
    arguments = parser.parse_args(argv)
    try:
        return _run(arguments)
    except ProviderError as error:
        print(marked(error), file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    if arguments.verb == "image":
        from providers.local.image import build_cds, ensure_image  # the verbs must start fast

        for version in arguments.versions:
            print(ensure_image(version, arguments.cache))
            if arguments.cds:
                print(build_cds(version, arguments.cache))
    elif arguments.verb == "reap":
        print(f"{reap(arguments.root)} processes killed")
    else:
        perform(arguments.verb, json.loads(os.environ[REQUEST]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
