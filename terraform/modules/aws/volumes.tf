# A data volume outlives VMs; an attachment is a resource of its own, so that a handover can delete one and create the
# next without touching either the VM or the disk.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }

  # EC2 wants a device name per volume of a VM; Nitro shows disks as NVMe and the agent finds them by volume id.
  letters = ["f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
  devices = {
    for k, a in var.attachments : k => "/dev/sd${local.letters[
      index(sort([for other, b in var.attachments : other if b.instance == a.instance]), k)
    ]}"
  }
}

resource "aws_ebs_volume" "volume" {
  for_each = local.persistent

  availability_zone = replace(each.value.zone, "/-p[1-7]$/", "")
  size              = each.value.size_gib
  type              = coalesce(each.value.type, "gp3")
  iops              = each.value.iops
  throughput        = each.value.throughput_mib_per_s
  encrypted         = true
  kms_key_id        = each.value.kms_key
  tags = lookup(var.retags, "volume/${each.key}", merge(
    local.owner,
    each.value.cost_tags,
    {
      kedge-volume = each.key
      kedge-node   = each.value.node
      Name         = "${var.cluster_name}-${each.key}"
    },
    can(regex("-p[1-7]$", each.value.zone)) ? { kedge-zone = each.value.zone } : {},
  ))

  lifecycle {
    ignore_changes = all # grows: [availability_zone, type, iops, throughput, encrypted, kms_key_id, tags]
  }
}

resource "aws_volume_attachment" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }

  device_name = local.devices[each.key]
  volume_id   = aws_ebs_volume.volume[each.value.volume].id
  instance_id = aws_instance.instance[each.value.instance].id

  lifecycle {
    ignore_changes = all
  }
}

# The VM's own disks (instance store) are made and gone with it. They are named here, because a run names them.
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

  depends_on = [aws_instance.instance]

  lifecycle {
    ignore_changes = all
  }
}
