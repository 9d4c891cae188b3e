output "settings" {
  description = "The region's section in `hetzner.yaml`, images left out."
  value = {
    network          = tonumber(hcloud_network.own.id)
    subnets          = { for zone, subnet in hcloud_network_subnet.zone : zone => subnet.ip_range }
    node_network     = tonumber(hcloud_network.node.id)
    member_range     = hcloud_network_subnet.member.ip_range
    node_range       = hcloud_network_subnet.node.ip_range
    clients          = sort(var.clients)
    placement_groups = [for n in sort(keys(hcloud_placement_group.spread)) : tonumber(hcloud_placement_group.spread[n].id)]
  }
}
