output "settings" {
  description = "What the section of the region in `upcloud.yaml` needs of this network."
  value = {
    network        = upcloud_network.network.id
    node_addresses = cidrsubnet(var.cidr, 1, 1)
    zones          = sort(keys(var.zones))
    server_group   = upcloud_server_group.spread.id
  }
}
