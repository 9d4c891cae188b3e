# A data disk outlives VMs; an attachment is a resource of its own, so that a handover can delete one and create the next
# without touching the disk.
locals {
  persistent = { for k, v in var.volumes : k => v if v.kind != "ephemeral" }
  ephemeral  = { for k, v in var.volumes : k => v if v.kind == "ephemeral" }

  # Azure wants a number per disk of a VM, below what the machine size takes: the attachment's place among those of its VM.
  luns = {
    for k, a in var.attachments : k => index(sort([for other, b in var.attachments : other if b.instance == a.instance]), k)
  }
}

# Encrypted at rest by Azure with its own keys, as every managed disk is; nobody can export it over a network.
resource "azurerm_managed_disk" "volume" {
  for_each = local.persistent

  name                          = local.names[each.key]
  location                      = var.region
  resource_group_name           = var.cloud["resource_group"]
  zone                          = startswith(local.zones[each.value.zone], "fd") ? null : local.zones[each.value.zone]
  create_option                 = "Empty"
  storage_account_type          = coalesce(each.value.type, "Premium_LRS")
  disk_iops_read_write          = each.value.iops
  disk_mbps_read_write          = try(ceil(each.value.throughput_mib_per_s * 1.048576), null) # millions of bytes
  disk_encryption_set_id        = each.value.kms_key
  disk_size_gb                  = each.value.size_gib
  public_network_access_enabled = false
  network_access_policy         = "DenyAll"
  tags = lookup(var.retags, "volume/${each.key}", merge(local.owner, each.value.cost_tags, {
    kedge-volume = each.key
    kedge-node   = each.value.node
    kedge-zone   = each.value.zone
  }))

  lifecycle {
    ignore_changes = all
  }
}

# No caching by the host: an acknowledged write is on the disk.
resource "azurerm_virtual_machine_data_disk_attachment" "attachment" {
  for_each = { for k, a in var.attachments : k => a if contains(keys(local.persistent), a.volume) }

  managed_disk_id    = azurerm_managed_disk.volume[each.value.volume].id
  virtual_machine_id = azurerm_linux_virtual_machine.instance[each.value.instance].id
  lun                = local.luns[each.key]
  caching            = "None"

  lifecycle {
    ignore_changes = all
  }
}

# The VM's own disks (local NVMe, temporary disk) are made and gone with it. They are named here, because a run names them.
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

  depends_on = [azurerm_linux_virtual_machine.instance]

  lifecycle {
    ignore_changes = all
  }
}
