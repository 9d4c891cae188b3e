# One subnet per zone. Which way out of it there is (a gateway, a peering, none) is not decided here: no VM
# gets a public address that it does not ask for, and no route is made.
locals {
  owner = { kedge-installation = var.installation_id, kedge-network = var.name }
  ipv6  = lookup(var.cloud, "ipv6", "false") == "true"
}

resource "aws_vpc" "network" {
  cidr_block = var.cidr

  assign_generated_ipv6_cidr_block = local.ipv6 ? true : null

  tags = merge(local.owner, { Name = var.name })
}

resource "aws_subnet" "zone" {
  for_each = var.zones

  vpc_id            = aws_vpc.network.id
  availability_zone = replace(each.key, "/-p[1-7]$/", "") # a rack may be a partition of a placement group in a zone
  cidr_block        = cidrsubnet(var.cidr, 4, each.value)
  ipv6_cidr_block   = local.ipv6 ? cidrsubnet(aws_vpc.network.ipv6_cidr_block, 8, each.value) : null
  tags              = merge(local.owner, { Name = "${var.name}-${each.key}" })
}
