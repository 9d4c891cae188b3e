# The module contract (terraform/README.md): the same variables on every cloud.

variable "installation_id" {
  description = "Marks everything this Kedge owns; objects of another installation are never touched."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,62}$", var.installation_id))
    error_message = "installation_id: 1-63 of a-z, 0-9 and '-', not starting with '-'."
  }
}

variable "cluster_uid" {
  description = "Uid of the cluster, minted when it was first declared."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,62}$", var.cluster_uid))
    error_message = "cluster_uid: 1-63 of a-z, 0-9 and '-', not starting with '-'."
  }
}

variable "cluster_name" {
  description = "Name of the cluster, for people."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{0,62}$", var.cluster_name))
    error_message = "cluster_name: 1-63 of a-z, 0-9 and '-', not starting with '-'."
  }
}

variable "region" {
  description = "Region of the cloud; one state per account and region."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]*$", var.region))
    error_message = "region: a-z, 0-9 and '-'."
  }
}

variable "cloud" {
  description = "Azure's own: `account_id` (subscription), `tenant_id`, `resource_group`, `ssh_key`, `encryption_at_host`, `secure_boot`, `scale_set`, and `subnet_<zone>` and `zone_<zone>` for each zone in use."
  type        = map(string)
  validation {
    condition     = alltrue([for key in ["account_id", "tenant_id"] : can(regex("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", var.cloud[key]))])
    error_message = "cloud: `account_id` must be the id of the subscription and `tenant_id` that of its directory."
  }
  validation {
    condition     = can(regex("^[a-z0-9_][a-z0-9_.()-]{0,88}[a-z0-9_()-]$", var.cloud["resource_group"]))
    error_message = "cloud: `resource_group` must be the name of a resource group, in lower case."
  }
  validation {
    condition     = can(regex("^ssh-(ed25519|rsa) [A-Za-z0-9+/=]+( [^\n]*)?$", var.cloud["ssh_key"]))
    error_message = "cloud: `ssh_key` must be a public key, `ssh-ed25519 ...` or `ssh-rsa ...`."
  }
  validation {
    condition     = alltrue([for key in ["encryption_at_host", "secure_boot"] : can(regex("^(true|false)$", var.cloud[key]))])
    error_message = "cloud: `encryption_at_host` and `secure_boot` are \"true\" or \"false\"."
  }
  validation {
    condition = alltrue([
      for zone in concat([for i in var.instances : i.zone], [for v in var.volumes : v.zone], [for a in var.addresses : a.zone]) :
      can(regex("^/subscriptions/.+/subnets/[^/]+$", var.cloud["subnet_${zone}"])) && can(regex("^([1-3]|fd[0-4])$", var.cloud["zone_${zone}"]))
    ])
    error_message = "cloud: each zone in use needs `subnet_<zone>`, the id of its subnet, and `zone_<zone>`, 1 to 3 or fd0 to fd4."
  }
  validation {
    condition = alltrue([
      for key, place in var.cloud :
      !startswith(key, "zone_") || !startswith(place, "fd") || can(regex("/virtualMachineScaleSets/[^/]+$", var.cloud["scale_set"]))
    ])
    error_message = "cloud: fault domains need `scale_set`, the id of a scale set with flexible orchestration."
  }
}

variable "instances" {
  description = "VMs by `<node>.g<generation>`. Frozen: what was recorded with the intent never changes."
  type = map(object({
    node           = string
    generation     = number
    zone           = string
    shape          = string
    image          = string
    intent_id      = string
    boot_data      = string
    address        = string
    tags           = map(string)
    spot           = optional(bool, false)
    ipv6           = optional(bool, false)
    public_address = optional(bool, false)
    cost_tags      = optional(map(string), {})
  }))
  default = {}
  validation {
    condition     = alltrue([for k, i in var.instances : k == "${i.node}.g${i.generation}"])
    error_message = "instances: the key must be `<node>.g<generation>`."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^[a-z0-9][a-z0-9-]*$", i.node)) && i.intent_id != ""])
    error_message = "instances: node is made of a-z, 0-9 and '-', and every VM carries its intent id."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^/subscriptions/.+/(images/[^/]+|versions/[0-9]+[.][0-9]+[.][0-9]+)$", i.image))])
    error_message = "instances: image must be the id of an image, or of one numbered version in a gallery; a newest one could mean another tomorrow."
  }
  validation {
    condition     = alltrue([for i in var.instances : length(base64encode(i.boot_data)) <= 65535])
    error_message = "instances: boot_data is at most 65535 bytes in base64 (the limit of custom data)."
  }
}

variable "volumes" {
  description = "Disks by `<node>.<dir>.v<version>`; they outlive VMs unless their kind is `ephemeral`."
  type = map(object({
    node      = string
    dir       = string
    version   = number
    zone      = string
    kind      = string
    size_gib  = number
    cost_tags = optional(map(string), {})
    # Told of disks whose spec says more than their size.
    type                 = optional(string)
    iops                 = optional(number)
    throughput_mib_per_s = optional(number)
    kms_key              = optional(string)
  }))
  default = {}
  validation {
    condition     = alltrue([for k, v in var.volumes : k == "${v.node}.${v.dir}.v${v.version}"])
    error_message = "volumes: the key must be `<node>.<dir>.v<version>`."
  }
  validation {
    condition     = alltrue([for v in var.volumes : v.size_gib >= 1])
    error_message = "volumes: size_gib must be at least 1."
  }
}

variable "attachments" {
  description = "A volume on an instance, by `<instance key>.<dir>`."
  type = map(object({
    instance = string
    volume   = string
  }))
  default = {}
  validation {
    condition = alltrue([
      for a in var.attachments :
      contains(keys(var.instances), a.instance) && contains(keys(var.volumes), a.volume)
    ])
    error_message = "attachments: both the instance and the volume must be in the rendered set."
  }
  validation {
    condition     = alltrue([for i in values(var.attachments)[*].instance : length([for a in var.attachments : a if a.instance == i]) <= 64])
    error_message = "attachments: an instance has at most 64 volumes, and small sizes fewer."
  }
}

variable "addresses" {
  description = "Addresses owned by a node rather than by one of its instances, by node."
  type = map(object({
    zone      = string
    address   = string
    cost_tags = optional(map(string), {})
  }))
  default = {}
  validation {
    condition     = alltrue([for a in var.addresses : a.address == null || can(cidrhost("${a.address}/32", 0))])
    error_message = "addresses: an address is null, and the subnet chooses it, or an IPv4 address of the subnet."
  }
}

variable "bindings" {
  description = "A node's address on one of its instances, by instance key."
  type = map(object({
    node     = string
    instance = string
  }))
  default = {}
  validation {
    condition = alltrue([
      for k, b in var.bindings :
      k == b.instance && contains(keys(var.instances), b.instance) && contains(keys(var.addresses), b.node)
    ])
    error_message = "bindings: the key is the instance; both it and the node's address must be in the rendered set."
  }
  validation {
    condition     = alltrue([for k in keys(var.bindings) : !try(var.instances[k].public_address, false)])
    error_message = "bindings: a node's network interface outlives its VMs, and has no public address of theirs."
  }
}

variable "retags" {
  description = "Tags of what stands, by `<word>/<key>`: told by tag runs alone, the only ones that look at tags."
  type        = map(map(string))
  default     = {}
  validation {
    condition     = alltrue([for key in keys(var.retags) : can(regex("^(instance|root|nic|public|volume|address)/.", key))])
    error_message = "retags: the key must be `<word>/<key>`, the word being instance, root, nic, public, volume or address."
  }
}
