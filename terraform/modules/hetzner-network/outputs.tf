output "settings" {
  description = "The region's section in `hetzner.yaml`, images left out."
  value = merge({
    network          = tonumber(hcloud_network.own.id)
    subnets          = { for zone, subnet in hcloud_network_subnet.zone : zone => subnet.ip_range }
    node_network     = tonumber(hcloud_network.node.id)
    member_range     = hcloud_network_subnet.member.ip_range
    node_range       = hcloud_network_subnet.node.ip_range
    clients          = sort(var.clients)
    placement_groups = [for n in sort(keys(hcloud_placement_group.spread)) : tonumber(hcloud_placement_group.spread[n].id)]
    }, {
    # Told where they are not what a region has anyway: what older releases made gives what it gave.
    for name, ports in { broker_ports = var.broker_ports, member_ports = var.member_ports } :
    name => [for p in ports : p] if ports != { broker_ports = toset([9092]), member_ports = toset([9093]) }[name]
    }, {
    for name, told in { servers = sort(var.servers) } : name => told if length(told) > 0
    }, {
    for name, told in { port_clients = { for port, clients in var.port_clients : port => sort(clients) } } :
    name => told if length(told) > 0
    }, {
    for name, told in { overlay_ports = var.overlay_ports, open_overlay_ports = var.open_overlay_ports } :
    name => [for p in told : p] if length(told) > 0
  })
}
