output "settings" {
  description = "The section of the region in `upcloud.yaml`, images left out."
  value = merge({
    network        = upcloud_network.network.id
    network_range  = cidrsubnet(var.cidr, 0, 0)
    node_addresses = cidrsubnet(var.cidr, 1, 1)
    zones          = sort(keys(var.zones))
    server_group   = upcloud_server_group.spread.id
    clients        = sort(var.clients)
    }, {
    # Told where they are not what a region has anyway, as by every cloud whose VMs filter packets themselves.
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
