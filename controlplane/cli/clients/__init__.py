"""The HTTP API as typed calls, by area; `controlplane.cli.client.Client` is all of them."""
