# A data volume outlives VMs; an attachment is a resource of its own, so that a handover can delete one and create the
# next without touching either the VM or the disk. A VM finds it as /dev/disk/by-id/scsi-0HC_Volume_<id>.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }
}

resource "hcloud_volume" "volume" {
  for_each = local.persistent

  name     = local.names[each.key]
  size     = each.value.size_gib
  location = split("-", each.value.zone)[0]
  labels = lookup(var.retags, "volume/${each.key}", merge(local.owner, each.value.cost_tags, {
    kedge-node    = each.value.node
    kedge-dir     = each.value.dir
    kedge-version = each.value.version
    kedge-zone    = each.value.zone
  }))

  lifecycle {
    ignore_changes = all # grows: [name, location, labels]
  }
}

resource "hcloud_volume_attachment" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }

  volume_id = hcloud_volume.volume[each.value.volume].id
  server_id = hcloud_server.instance[each.value.instance].id
  automount = false

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

  depends_on = [hcloud_server.instance]

  lifecycle {
    ignore_changes = all
  }
}
