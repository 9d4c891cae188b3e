# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
locals {
  owner = { for name, value in var.cloud : trimprefix(name, "label_") => value if startswith(name, "label_") }

  # A name is unique in its project: with the digest no other cluster, generation or Kedge has the same, and a VM that
  # was made twice by mistake is refused by Hetzner itself. The words before it are for people and may be cut.
  names = {
    for key in concat(keys(var.instances), keys(var.volumes)) : key => format("%s-%s",
      substr(replace("${var.cluster_name}-${key}", ".", "-"), 0, 50),
      substr(sha256("${var.installation_id}/${var.cluster_uid}/${key}"), 0, 12),
    )
  }
}

resource "hcloud_server" "instance" {
  for_each = var.instances

  name               = local.names[each.key]
  server_type        = each.value.shape
  image              = each.value.image
  location           = split("-", each.value.zone)[0]
  user_data          = each.value.boot_data
  labels             = lookup(var.retags, "instance/${each.key}", merge(each.value.tags, each.value.cost_tags))
  placement_group_id = lookup(var.cloud, "placement_group_${each.key}", null)

  # Without these nothing of it is reachable from outside. Hetzner's firewalls would not see private traffic: nftables
  # of the boot data does, and lets nobody in by IPv6, which is a way out alone. An address goes with its VM.
  public_net {
    ipv4_enabled = each.value.public_address
    ipv6_enabled = each.value.ipv6
  }

  network {
    subnet_id = "${var.cloud["network"]}-${var.cloud["subnet_${each.value.zone}"]}"
    ip        = each.value.address
    alias_ips = []
  }

  # The network of addresses that belong to nodes: who owns one of those gets into it by its binding, all others here.
  dynamic "network" {
    for_each = contains(keys(var.addresses), each.value.node) ? [] : [var.cloud["member_range"]]

    content {
      subnet_id = "${var.cloud["node_network"]}-${network.value}"
      alias_ips = []
    }
  }

  lifecycle {
    ignore_changes = all
  }
}
