# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
locals {
  owner = {
    kedge-installation = var.installation_id
    kedge-cluster-uid  = var.cluster_uid
    kedge-cluster-name = var.cluster_name
  }

  # A name is a thing's identity in Azure, and all clusters share a resource group: 64 characters at most (the limit of a
  # Linux VM, the narrowest of all), of which 20 stand for installation, cluster and key and no two things have the same.
  names = {
    for key in concat(keys(var.instances), keys(var.volumes), keys(var.addresses)) : key => join("-", [
      substr(replace("${var.cluster_name}-${key}", ".", "-"), 0, 43),
      substr(sha256("${var.installation_id}/${var.cluster_uid}/${key}"), 0, 20),
    ])
  }

  # A zone of a spec is one of the subscription's zones ("1"), or a fault domain of its scale set ("fd0").
  zones = { for key, place in var.cloud : trimprefix(key, "zone_") => place if startswith(key, "zone_") }
}

# Of a VM that asks for it: an address of its own, which stays while it is stopped and goes with it. The subnets' security
# group is before it. A node's network interface outlives its VMs, and has none (the catalogue refuses that).
resource "azurerm_public_ip" "instance_public" {
  for_each = { for k, i in var.instances : k => i if i.public_address }

  name                = local.names[each.key]
  location            = var.region
  resource_group_name = var.cloud["resource_group"]
  allocation_method   = "Static"
  sku                 = "Standard"
  tags = lookup(var.retags, "public/${each.key}", merge(
    local.owner, each.value.cost_tags, { kedge-instance = each.key },
  ))

  lifecycle {
    ignore_changes = all
  }
}

# The one network interface of a VM. One whose node owns an address has that instead (addresses.tf).
resource "azurerm_network_interface" "instance_nic" {
  #checkov:skip=CKV_AZURE_119: a public address is given only where the pool asks for one (publicAddress)
  for_each = { for k, i in var.instances : k => i if !contains(keys(var.bindings), k) }

  name                           = local.names[each.key]
  location                       = var.region
  resource_group_name            = var.cloud["resource_group"]
  accelerated_networking_enabled = true
  tags = lookup(var.retags, "nic/${each.key}", merge(
    local.owner, each.value.cost_tags, { kedge-instance = each.key },
  ))

  ip_configuration {
    name                          = "own"
    subnet_id                     = var.cloud["subnet_${each.value.zone}"]
    private_ip_address_allocation = each.value.address == null ? "Dynamic" : "Static"
    private_ip_address            = each.value.address
    primary                       = each.value.ipv6 ? true : null
    public_ip_address_id          = each.value.public_address ? azurerm_public_ip.instance_public[each.key].id : null
  }

  # The first is always IPv4 in Azure, and the primary one.
  dynamic "ip_configuration" {
    for_each = each.value.ipv6 ? ["IPv6"] : []

    content {
      name                          = "ipv6"
      subnet_id                     = var.cloud["subnet_${each.value.zone}"]
      private_ip_address_version    = ip_configuration.value
      private_ip_address_allocation = "Dynamic"
    }
  }

  lifecycle {
    ignore_changes = all
  }
}

resource "azurerm_linux_virtual_machine" "instance" {
  for_each = var.instances

  name                = local.names[each.key]
  location            = var.region
  resource_group_name = var.cloud["resource_group"]
  size                = each.value.shape
  source_image_id     = each.value.image
  custom_data         = base64encode(each.value.boot_data)
  tags                = lookup(var.retags, "instance/${each.key}", merge(each.value.tags, each.value.cost_tags))

  # A network interface binds only with the VM: to pass one on is to delete this VM and to create the next with it.
  network_interface_ids = [
    contains(keys(var.bindings), each.key)
    ? azurerm_network_interface.address[var.bindings[each.key].node].id
    : azurerm_network_interface.instance_nic[each.key].id
  ]

  zone                         = startswith(local.zones[each.value.zone], "fd") ? null : local.zones[each.value.zone]
  virtual_machine_scale_set_id = startswith(local.zones[each.value.zone], "fd") ? var.cloud["scale_set"] : null
  platform_fault_domain        = startswith(local.zones[each.value.zone], "fd") ? tonumber(trimprefix(local.zones[each.value.zone], "fd")) : null

  # Pre-emptible, at whatever price it has: Azure deletes it when it wants, which is a VM that is gone. Deallocated it
  # would hold its disks and its quota for ever. Data disks have the delete option `Detach`, Azure's default.
  priority        = each.value.spot ? "Spot" : null
  eviction_policy = each.value.spot ? "Delete" : null
  max_bid_price   = each.value.spot ? -1 : null

  # Azure asks for a key where passwords are off. No door in the network leads to it.
  admin_username                  = "kedge"
  disable_password_authentication = true
  admin_ssh_key {
    username   = "kedge"
    public_key = var.cloud["ssh_key"]
  }

  # Nobody with rights on the subscription runs code in the VM by an extension.
  allow_extension_operations = false
  encryption_at_host_enabled = var.cloud["encryption_at_host"] == "true"
  secure_boot_enabled        = var.cloud["secure_boot"] == "true"
  vtpm_enabled               = var.cloud["secure_boot"] == "true"

  # The serial log of a VM whose agent never spoke is all there is to go by; Azure keeps it, in storage of its own.
  boot_diagnostics {}

  os_disk {
    name                 = "${local.names[each.key]}-os"
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
  }

  lifecycle {
    ignore_changes = all
  }
}
