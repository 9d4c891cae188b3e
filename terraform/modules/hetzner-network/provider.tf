# The token comes from the environment (HCLOUD_TOKEN); whose project it is of, nothing can check before there is a
# network in it.
provider "hcloud" {
  poll_interval = lookup(var.cloud, "poll_interval", "500ms")
  poll_function = lookup(var.cloud, "poll_function", "exponential")
}
