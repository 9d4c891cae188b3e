# Membership is the subnet: a new VM changes nothing here, and no rule names one. Rules are resources of their own, one
# style only; inline rules beside them would take turns with them at every apply.
locals {
  subnets = [for zone in sort(keys(var.zones)) : cidrsubnet(var.cidr, 4, var.zones[zone])]
  dialled = [for p in var.server_ports : tostring(p)]
  shared  = [for p in var.broker_ports : tostring(p) if !contains(keys(var.port_clients), tostring(p))]
  members = {
    brokers     = { ports = [for p in var.broker_ports : tostring(p)], priority = 100 }
    controllers = { ports = [for p in var.member_ports : tostring(p)], priority = 110 }
  }
}

resource "azurerm_network_security_group" "kafka" {
  name                = "${var.name}-kafka"
  location            = azurerm_resource_group.network.location
  resource_group_name = azurerm_resource_group.network.name
  tags                = local.owner
}

resource "azurerm_network_security_rule" "members" {
  for_each = local.members

  name                         = "${each.key}-from-members"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = each.value.priority
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Tcp"
  source_port_range            = "*"
  source_address_prefixes      = local.subnets
  destination_port_range       = length(each.value.ports) == 1 ? each.value.ports[0] : null
  destination_port_ranges      = length(each.value.ports) == 1 ? null : each.value.ports
  destination_address_prefixes = local.subnets
}

# Members in other places of their clusters.
resource "azurerm_network_security_rule" "peers" {
  for_each = { for name, told in local.members : name => told if length(var.peers) > 0 }

  name                         = "${each.key}-from-peers"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = each.value.priority + 20
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Tcp"
  source_port_range            = "*"
  source_address_prefixes      = var.peers
  destination_port_range       = length(each.value.ports) == 1 ? each.value.ports[0] : null
  destination_port_ranges      = length(each.value.ports) == 1 ? null : each.value.ports
  destination_address_prefixes = local.subnets
}

# Who keeps the clusters has to see them.
resource "azurerm_network_security_rule" "servers" {
  count = length(var.servers) > 0 ? 1 : 0

  name                         = "servers-of-kedge"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = 150
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Tcp"
  source_port_range            = "*"
  source_address_prefixes      = var.servers
  destination_port_range       = length(local.dialled) == 1 ? local.dialled[0] : null
  destination_port_ranges      = length(local.dialled) == 1 ? null : local.dialled
  destination_address_prefixes = local.subnets
}

resource "azurerm_network_security_rule" "clients" {
  count = length(var.clients) > 0 && length(local.shared) > 0 ? 1 : 0

  name                         = "clients-of-kafka"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = 200
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Tcp"
  source_port_range            = "*"
  source_address_prefixes      = var.clients
  destination_port_range       = length(local.shared) == 1 ? local.shared[0] : null
  destination_port_ranges      = length(local.shared) == 1 ? null : local.shared
  destination_address_prefixes = local.subnets
}

# Listeners with clients of their own. A priority follows from the port, so that none changes when another port comes.
resource "azurerm_network_security_rule" "listeners" {
  for_each = { for port, clients in var.port_clients : port => clients if length(clients) > 0 }

  name                         = "clients-at-${each.key}"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = 201 + tonumber(each.key) % 3793
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Tcp"
  source_port_range            = "*"
  source_address_prefixes      = each.value
  destination_port_range       = each.key
  destination_address_prefixes = local.subnets
}

# Tunnels of an overlay, and nothing else by UDP: from members, and where anybody may call from everywhere. What comes to a
# public address has the private one here already. Azure's IPv6 is private, and has no path.
locals {
  tunnels = {
    members = { ports = [for p in var.overlay_ports : tostring(p)], priority = 160, from = concat(local.subnets, sort(var.peers)) }
    anybody = { ports = [for p in var.open_overlay_ports : tostring(p)], priority = 170, from = ["0.0.0.0/0"] }
  }
}

resource "azurerm_network_security_rule" "overlay" {
  for_each = { for name, told in local.tunnels : name => told if length(told.ports) > 0 }

  name                         = "tunnels-from-${each.key}"
  resource_group_name          = azurerm_resource_group.network.name
  network_security_group_name  = azurerm_network_security_group.kafka.name
  priority                     = each.value.priority
  direction                    = "Inbound"
  access                       = "Allow"
  protocol                     = "Udp"
  source_port_range            = "*"
  source_address_prefixes      = each.value.from
  destination_port_range       = length(each.value.ports) == 1 ? each.value.ports[0] : null
  destination_port_ranges      = length(each.value.ports) == 1 ? null : each.value.ports
  destination_address_prefixes = local.subnets
}

# Azure lets the whole network and everything peered with it in, by rules nobody can delete: this one comes before them.
# It closes administration too, and the probes of Azure's load balancers.
resource "azurerm_network_security_rule" "nobody_else" {
  name                        = "nobody-else"
  resource_group_name         = azurerm_resource_group.network.name
  network_security_group_name = azurerm_network_security_group.kafka.name
  priority                    = 4096
  direction                   = "Inbound"
  access                      = "Deny"
  protocol                    = "*"
  source_port_range           = "*"
  source_address_prefix       = "*"
  destination_port_range      = "*"
  destination_address_prefix  = "*"
}

resource "azurerm_subnet_network_security_group_association" "zone" {
  for_each = azurerm_subnet.zone

  subnet_id                 = each.value.id
  network_security_group_id = azurerm_network_security_group.kafka.id
}
