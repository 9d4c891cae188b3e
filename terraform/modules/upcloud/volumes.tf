# A data disk outlives VMs. UpCloud attaches it to a server when it makes that server, and lets go of it when it deletes
# the server; an attachment is the name of that, so that a run says which disk passes with which VM.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }
}

resource "upcloud_storage" "volume" {
  for_each = local.persistent

  title   = local.names[each.key]
  zone    = var.region
  size    = each.value.size_gib
  tier    = coalesce(each.value.type, "maxiops")
  encrypt = var.cloud["encrypt"] == "true"
  labels = lookup(var.retags, "volume/${each.key}", merge(
    local.owner,
    each.value.cost_tags,
    { kedge-volume = each.key, kedge-node = each.value.node, kedge-zone = each.value.zone },
    contains(keys(var.addresses), each.value.node) ? { kedge-address = terraform_data.address[each.value.node].output } : {},
  ))

  lifecycle {
    ignore_changes = all
  }
}

# Follows its VM, which is made with the disk and says so in a label. Its input names both, and no more: it does nothing in
# the cloud, so that it is refused for a VM that stands without the disk.
resource "terraform_data" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }
  input    = "${upcloud_server.instance[each.value.instance].id} ${upcloud_storage.volume[each.value.volume].id}"

  lifecycle {
    ignore_changes = all

    precondition {
      condition = contains(
        split(" ", lookup(upcloud_server.instance[each.value.instance].labels, "kedge-volumes", "")), each.value.volume,
      )
      error_message = "A disk attaches only to a VM that is made with it, and this VM was made without."
    }
  }
}

# A VM's own disks are parts of its root disk, made and gone with it. They are named here, because a run names them.
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

  depends_on = [upcloud_server.instance]

  lifecycle {
    ignore_changes = all
  }
}
