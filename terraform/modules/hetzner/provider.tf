# The token comes from the environment of the run and nowhere else. Hetzner does not tell whose a token is, so the
# provider cannot check it; Kedge does before each run, by a network only the right project has.
provider "hcloud" {
  poll_interval = lookup(var.cloud, "poll_interval", "500ms")
  poll_function = lookup(var.cloud, "poll_function", "exponential")
}
