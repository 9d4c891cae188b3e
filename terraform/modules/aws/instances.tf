# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
locals {
  owner = {
    kedge-installation = var.installation_id
    kedge-cluster-uid  = var.cluster_uid
    kedge-cluster-name = var.cluster_name
  }
  security_groups = split(" ", var.cloud["security_groups"])

  # A rack may be a partition of a placement group in a zone: `eu-west-1a-p2` is the second in `eu-west-1a`.
  partitions = { for key, i in var.instances : key => tonumber(regex("-p([1-7])$", i.zone)[0]) if can(regex("-p[1-7]$", i.zone)) }
}

resource "aws_instance" "instance" {
  for_each = var.instances

  ami                         = each.value.image
  instance_type               = each.value.shape
  subnet_id                   = var.cloud["subnet_${each.value.zone}"]
  placement_group             = contains(keys(local.partitions), each.key) ? var.cloud["placement_group"] : null
  placement_partition_number  = lookup(local.partitions, each.key, null)
  private_ip                  = each.value.address
  vpc_security_group_ids      = local.security_groups
  associate_public_ip_address = each.value.public_address  # only for who asks; a stopped VM gives it back
  ipv6_address_count          = each.value.ipv6 ? 1 : null # one of the subnet's, where it has IPv6
  user_data                   = each.value.boot_data
  tags = lookup(var.retags, "instance/${each.key}", merge(
    each.value.tags, each.value.cost_tags, { Name = "${var.cluster_name}-${each.key}" },
  ))

  # Tokens only, and one hop: no process of a container or behind a proxy gets at the VM's credentials.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  # Pre-emptible, at whatever price it has: EC2 ends it when it wants, which is a VM that is gone.
  dynamic "instance_market_options" {
    for_each = each.value.spot ? ["spot"] : []

    content {
      market_type = "spot"

      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    tags = lookup(var.retags, "root/${each.key}", merge(
      local.owner,
      each.value.cost_tags,
      { kedge-node = each.value.node, Name = "${var.cluster_name}-${each.key}-root" },
    ))
  }

  lifecycle {
    ignore_changes = all
  }
}
