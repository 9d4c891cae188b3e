# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
# DigitalOcean's tags are flat words: a key and its value, a colon between, the value in the words of
# `providers/digitalocean/tags.py`. What is made of a-z, 0-9 and '-' is the same there.
locals {
  owner = [
    "kedge-installation:${var.installation_id}",
    "kedge-cluster-uid:${var.cluster_uid}",
    "kedge-cluster-name:${var.cluster_name}",
  ]
  vm_names = { for k in keys(var.instances) : k => "${var.cluster_name}-${k}" }
}

resource "digitalocean_droplet" "instance" {
  for_each = var.instances

  # A hostname of at most 255 characters; a longer one keeps its beginning and tells itself apart by a hash.
  name = (length(local.vm_names[each.key]) <= 255 ? local.vm_names[each.key] :
  "${substr(local.vm_names[each.key], 0, 238)}-${substr(sha256(local.vm_names[each.key]), 0, 16)}")
  region        = var.region
  size          = each.value.shape
  image         = each.value.image
  vpc_uuid      = var.cloud["vpc"]
  ipv6          = each.value.ipv6 ? true : null # public; the firewall of the tag lets nobody in by it
  ssh_keys      = compact(split(" ", lookup(var.cloud, "ssh_keys", "")))
  user_data     = each.value.boot_data
  droplet_agent = false # the web console's way in
  tags = lookup(var.retags, "instance/${each.key}", concat(
    [for name, value in merge(each.value.tags, each.value.cost_tags) : "${name}:${value}"],
    ["kedge-zone:${each.value.zone}", var.cloud["firewall_tag"]],
  ))

  lifecycle {
    ignore_changes = all
  }
}
