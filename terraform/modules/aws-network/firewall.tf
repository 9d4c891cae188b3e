# Membership is the group itself, never a list of VMs: a new VM changes nothing here. Rules are resources of their own,
# one style only; inline rules beside them would take turns with them at every apply.
resource "aws_security_group" "kafka" {
  name        = "${var.name}-kafka"
  description = "Brokers and controllers of kedge ${var.installation_id}"
  vpc_id      = aws_vpc.network.id
  tags        = merge(local.owner, { Name = "${var.name}-kafka" })
}

resource "aws_vpc_security_group_ingress_rule" "members" {
  for_each = { brokers = 9092, controllers = 9093 }

  security_group_id            = aws_security_group.kafka.id
  description                  = "${each.key}, from members"
  referenced_security_group_id = aws_security_group.kafka.id
  ip_protocol                  = "tcp"
  from_port                    = each.value
  to_port                      = each.value
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = var.clients

  security_group_id = aws_security_group.kafka.id
  description       = "clients of Kafka"
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 9092
  to_port           = 9092
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
