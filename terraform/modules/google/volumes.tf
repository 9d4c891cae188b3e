# A data volume outlives VMs; an attachment is a resource of its own, so that a handover can delete one and create the
# next without touching the disk. A VM sees a volume as /dev/disk/by-id/google-<dir>-v<version>.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }
}

resource "google_compute_disk" "volume" {
  for_each = local.persistent

  name                   = local.volume_names[each.key]
  zone                   = each.value.zone
  type                   = coalesce(each.value.type, "pd-balanced")
  size                   = each.value.size_gib
  provisioned_iops       = each.value.iops
  provisioned_throughput = each.value.throughput_mib_per_s
  labels = lookup(var.retags, "volume/${each.key}", merge(
    local.labels,
    each.value.cost_tags,
    {
      kedge-node    = substr(each.value.node, 0, 63)
      kedge-dir     = each.value.dir
      kedge-version = tostring(each.value.version)
    },
    length(each.value.node) > 63 ? { kedge-node-2 = substr(each.value.node, 63, 63) } : {},
  ))

  dynamic "disk_encryption_key" {
    for_each = each.value.kms_key == null ? [] : [each.value.kms_key]
    content {
      kms_key_self_link = disk_encryption_key.value
    }
  }

  lifecycle {
    ignore_changes = all # grows: [name, zone, type, provisioned_iops, provisioned_throughput, disk_encryption_key, labels]
  }
}

resource "google_compute_attached_disk" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }

  disk        = google_compute_disk.volume[each.value.volume].id
  instance    = google_compute_instance.instance[each.value.instance].id
  device_name = "${var.volumes[each.value.volume].dir}-v${var.volumes[each.value.volume].version}"
  mode        = "READ_WRITE"

  lifecycle {
    ignore_changes = all
  }
}

# The VM's own disks (local SSD) come with its machine type and are gone with it. They are named here, because a run
# names them.
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

  depends_on = [google_compute_instance.instance]

  lifecycle {
    ignore_changes = all
  }
}
