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
  description = "AWS's own: `account_id`, `security_groups` (ids, a space between), `subnet_<zone>` for each zone in use, `placement_group` where zones are partitions of it."
  type        = map(string)
  validation {
    condition     = can(regex("^[0-9]{12}$", var.cloud["account_id"]))
    error_message = "cloud: `account_id` must be the 12 digits of the account the credentials are of."
  }
  validation {
    condition     = can(regex("^sg-[0-9a-f]+( sg-[0-9a-f]+)*$", var.cloud["security_groups"]))
    error_message = "cloud: `security_groups` must be ids of security groups with a space between."
  }
  validation {
    condition = alltrue([
      for zone in concat([for i in var.instances : i.zone], [for a in var.addresses : a.zone]) :
      can(regex("^subnet-[0-9a-f]+$", var.cloud["subnet_${zone}"]))
    ])
    error_message = "cloud: each zone in use needs `subnet_<zone>`, the id of its subnet."
  }
  validation {
    condition = alltrue([
      for i in var.instances : !can(regex("-p[1-7]$", i.zone)) || lookup(var.cloud, "placement_group", "") != ""
    ])
    error_message = "cloud: partitions need `placement_group`, the name of a placement group whose strategy is `partition`."
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
    condition     = alltrue([for i in var.instances : can(regex("^ami-[0-9a-f]+$", i.image))])
    error_message = "instances: image must be the id of a machine image; a name could mean another one tomorrow."
  }
  validation {
    condition     = alltrue([for i in var.instances : length(i.boot_data) <= 16384])
    error_message = "instances: boot_data is at most 16 KiB (EC2's limit of user data)."
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
    condition     = alltrue([for i in values(var.attachments)[*].instance : length([for a in var.attachments : a if a.instance == i]) <= 11])
    error_message = "attachments: an instance has at most 11 volumes (device names /dev/sdf to /dev/sdp)."
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
}

variable "retags" {
  description = "Tags of what stands, by `<word>/<key>`: told by tag runs alone, the only ones that look at tags."
  type        = map(map(string))
  default     = {}
  validation {
    condition     = alltrue([for key in keys(var.retags) : can(regex("^(instance|root|nic|volume|address)/.", key))])
    error_message = "retags: the key must be `<word>/<key>`, the word being instance, root, nic, volume or address."
  }
}
