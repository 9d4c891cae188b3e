# Membership is the group itself, never a list of VMs: a new VM changes nothing here. Rules are resources of their own,
# one style only; inline rules beside them would take turns with them at every apply.
resource "aws_security_group" "kafka" {
  name        = "${var.name}-kafka"
  description = "Brokers and controllers of kedge ${var.installation_id}"
  vpc_id      = aws_vpc.network.id
  tags        = merge(local.owner, { Name = "${var.name}-kafka" })
}

locals {
  # Kafka's own ports have names, as in the states of releases that knew no others.
  named  = { "9092" = "brokers", "9093" = "controllers" }
  inward = { for port in setunion(var.broker_ports, var.member_ports) : lookup(local.named, tostring(port), "port ${port}") => port }
  let_in = { for port in var.broker_ports : tostring(port) => lookup(var.port_clients, tostring(port), var.clients) }
  client = merge([
    for port in var.broker_ports : {
      for cidr in local.let_in[tostring(port)] : (port == 9092 ? cidr : "${cidr} ${port}") => { cidr = cidr, port = port }
    }
  ]...)
  # EC2 refuses a rule a second time: who is let in as a client there needs none as a server.
  server = merge([
    for port in var.server_ports : {
      for cidr in var.servers : "${cidr} ${port}" => { cidr = cidr, port = port }
      if !try(contains(local.let_in[tostring(port)], cidr), false)
    }
  ]...)
  tunnel = merge(
    merge([for port in var.overlay_ports : {
      for from in concat(["members"], sort(var.peers)) : "${from} ${port}" => { from = from, port = port }
    }]...),
    merge([for port in var.open_overlay_ports : {
      for from in concat(["0.0.0.0/0"], local.ipv6 ? ["::/0"] : []) : "${from} ${port}" => { from = from, port = port }
    }]...),
  )
  peer = merge([for port in values(local.inward) : { for cidr in var.peers : "${cidr} ${port}" => { cidr = cidr, port = port } }]...)
}

resource "aws_vpc_security_group_ingress_rule" "members" {
  for_each = local.inward

  security_group_id            = aws_security_group.kafka.id
  description                  = "${each.key}, from members"
  referenced_security_group_id = aws_security_group.kafka.id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = local.client

  security_group_id = aws_security_group.kafka.id
  description       = "clients of Kafka"
  cidr_ipv4         = each.value.cidr
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
}

# Members in other places of their clusters: they are in no group here.
resource "aws_vpc_security_group_ingress_rule" "peers" {
  for_each = local.peer

  security_group_id = aws_security_group.kafka.id
  description       = "members in another place"
  cidr_ipv4         = each.value.cidr
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
}

# Who keeps the clusters has to see them. An address of its own is in no group here either.
resource "aws_vpc_security_group_ingress_rule" "servers" {
  for_each = local.server

  security_group_id = aws_security_group.kafka.id
  description       = "server of Kedge"
  cidr_ipv4         = each.value.cidr
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
}

# Tunnels of an overlay, and nothing else by UDP: from members, and where anybody may call from everywhere.
resource "aws_vpc_security_group_ingress_rule" "overlay" {
  for_each = local.tunnel

  security_group_id            = aws_security_group.kafka.id
  description                  = "tunnels of an overlay"
  referenced_security_group_id = each.value.from == "members" ? aws_security_group.kafka.id : null
  cidr_ipv4                    = contains(["members", "::/0"], each.value.from) ? null : each.value.from
  cidr_ipv6                    = each.value.from == "::/0" ? each.value.from : null
  ip_protocol                  = "udp"
  from_port                    = each.value.port
  to_port                      = each.value.port
}

# Agents call the server, and nobody calls an agent.
resource "aws_vpc_security_group_egress_rule" "out" {
  security_group_id = aws_security_group.kafka.id
  description       = "to members, to the server of Kedge, to the mirror of Kafka"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

# In comes nobody by IPv6 but members, who are the group: no rule for clients names such a network.
resource "aws_vpc_security_group_egress_rule" "out_ipv6" {
  count = local.ipv6 ? 1 : 0

  security_group_id = aws_security_group.kafka.id
  description       = "to members, to the server of Kedge, to the mirror of Kafka"
  cidr_ipv6         = "::/0"
  ip_protocol       = "-1"
}
