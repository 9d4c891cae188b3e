"""`python -m controlplane.cli`: the same as the `kedge` script, without installing."""

from controlplane.cli.main import main

main()
