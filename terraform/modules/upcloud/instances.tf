# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
locals {
  owner = {
    kedge-installation = var.installation_id
    kedge-cluster-uid  = var.cluster_uid
    kedge-cluster-name = var.cluster_name
    kedge-region       = var.region
  }

  # With the digest no two things have the same name; the words before it are for people and may be cut.
  names = {
    for key in concat(keys(var.instances), keys(local.persistent)) : key => format("%s-%s",
      substr(replace("${var.cluster_name}-${key}", ".", "-"), 0, 50),
      substr(sha256("${var.installation_id}/${var.cluster_uid}/${key}"), 0, 12),
    )
  }

  # What a VM is made with, because UpCloud gives it that only then: data disks, the address of its node, and a root disk
  # that has room for those of its disks that are its own.
  disks = {
    for key in keys(var.instances) : key => sort([
      for a in var.attachments : a.volume if a.instance == key && contains(keys(local.persistent), a.volume)
    ])
  }
  own_gib = {
    for key in keys(var.instances) : key => sum(concat([0], [
      for a in var.attachments : local.ephemeral[a.volume].size_gib
      if a.instance == key && contains(keys(local.ephemeral), a.volume)
    ]))
  }
  bound = { for b in var.bindings : b.instance => terraform_data.address[b.node].output }
}

resource "upcloud_server" "instance" {
  for_each = var.instances

  hostname     = local.names[each.key]
  title        = local.names[each.key]
  zone         = var.region
  plan         = each.value.shape
  server_group = lookup(var.cloud, "server_group", null)
  labels = lookup(var.retags, "instance/${each.key}", merge(
    each.value.tags,
    each.value.cost_tags,
    contains(keys(local.bound), each.key) ? { kedge-address = local.bound[each.key] } : {},
  ))

  # Templates with cloud-init read their user data from the metadata service, which answers the VM alone.
  metadata  = true
  user_data = each.value.boot_data

  # No login block: nobody gets a password or a key that the template does not have.
  template {
    storage = each.value.image
    title   = "${local.names[each.key]}-root"
    size    = 25 + local.own_gib[each.key]
    tier    = "maxiops"
    encrypt = var.cloud["encrypt"] == "true"

    # The provider takes the first disk UpCloud names for the root disk, which it deletes with the VM. So the root disk is
    # first by every order: of the request, and of the addresses.
    address          = "virtio"
    address_position = "0"
  }

  # To pass a disk on is to delete this VM, which never deletes the disk, and to make the next one with it.
  dynamic "storage_devices" {
    for_each = local.disks[each.key]

    content {
      storage          = upcloud_storage.volume[storage_devices.value].id
      address          = "virtio"
      address_position = tostring(storage_devices.key + 1)
      type             = "disk"
    }
  }

  # The private network, and a public one of who asks for it, second: the first is the VM's address. None of the account's
  # utility network, which every server of the account would share. UpCloud's firewall is off: nftables of the boot data
  # filters on all interfaces.
  network_interface {
    type       = "private"
    network    = var.cloud["network"]
    ip_address = try(local.bound[each.key], each.value.address)
  }

  dynamic "network_interface" {
    for_each = each.value.public_address ? ["public"] : []

    content {
      type = network_interface.value
    }
  }

  lifecycle {
    ignore_changes = all

    # If it took another one for the root disk all the same, nothing more is done: the next run would delete data.
    postcondition {
      condition     = alltrue([for t in self.template : !contains([for v in upcloud_storage.volume : v.id], t.id)])
      error_message = "The provider takes a data disk for the VM's root disk and would delete it with the VM. Detach it by hand before anything else."
    }
  }
}
