# A data volume outlives VMs; an attachment is a resource of its own, so that a handover can delete one and create the
# next without touching either the VM or the disk. DigitalOcean does one thing at a time to a VM: the provider asks again
# while another attachment of that VM is under way.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }

  # At most 64 of a-z, 0-9 and '-', beginning with a letter, one of a kind in the region. The hash of uid and key keeps two
  # clusters apart, and two names that are cut to the same beginning.
  volume_names = { for k, v in var.volumes : k => join("-", [
    "k", substr(sha256("${var.cluster_uid}/${k}"), 0, 16),
    trimsuffix(substr(replace("${var.cluster_name}-${k}", ".", "-"), 0, 45), "-"),
  ]) }
}

resource "digitalocean_volume" "volume" {
  for_each = local.persistent

  name   = local.volume_names[each.key]
  region = var.region
  size   = each.value.size_gib
  tags = lookup(var.retags, "volume/${each.key}", concat(local.owner, [
    "kedge-volume:${replace(each.key, ".", "_2e")}",
    "kedge-node:${each.value.node}",
    "kedge-zone:${each.value.zone}",
  ], [for name, value in each.value.cost_tags : "${name}:${value}"]))

  lifecycle {
    ignore_changes = all # grows: [name, region, tags]
  }
}

resource "digitalocean_volume_attachment" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }

  droplet_id = digitalocean_droplet.instance[each.value.instance].id
  volume_id  = digitalocean_volume.volume[each.value.volume].id

  lifecycle {
    ignore_changes = all
  }
}

# A VM's own disk is made and gone with it. It is named here, because a run names it.
resource "terraform_data" "volume_own" {
  for_each = local.ephemeral
  input    = each.key

  lifecycle {
    ignore_changes = all
  }
}

resource "terraform_data" "attachment_own" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.ephemeral), a.volume) }
  input    = each.key

  depends_on = [digitalocean_droplet.instance]

  lifecycle {
    ignore_changes = all
  }
}
