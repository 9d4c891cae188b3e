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
  description = "The cloud's own settings. Here: `root`, the directory that is the cloud, and `python`, the interpreter."
  type        = map(string)
  validation {
    condition     = alltrue([for k in ["root", "python"] : startswith(lookup(var.cloud, k, ""), "/")])
    error_message = "cloud: `root` and `python` must be absolute paths."
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
  }))
  default = {}
  validation {
    condition     = alltrue([for i in var.instances : !i.spot])
    error_message = "instances: the local cloud has no pre-emptible VMs."
  }
  validation {
    condition     = alltrue([for i in var.instances : !i.ipv6 && !i.public_address])
    error_message = "instances: the local cloud has loopback addresses of IPv4 alone."
  }
  validation {
    condition     = alltrue([for k, i in var.instances : k == "${i.node}.g${i.generation}"])
    error_message = "instances: the key must be `<node>.g<generation>`."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^[a-z0-9][a-z0-9-]*$", i.node)) && i.intent_id != ""])
    error_message = "instances: node is made of a-z, 0-9 and '-', and every VM carries its intent id."
  }
}

variable "volumes" {
  description = "Disks by `<node>.<dir>.v<version>`; they outlive VMs unless their kind is `ephemeral`."
  type = map(object({
    node     = string
    dir      = string
    version  = number
    zone     = string
    kind     = string
    size_gib = number
    # Told of disks whose spec says more than their size.
    type                 = optional(string)
    iops                 = optional(number)
    throughput_mib_per_s = optional(number)
    kms_key              = optional(string)
  }))
  default = {}
  validation {
    condition     = alltrue([for v in var.volumes : v.type == null && v.iops == null && v.throughput_mib_per_s == null && v.kms_key == null])
    error_message = "volumes: those of the local cloud are of one kind: no type, figures or key is taken."
  }
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
}

variable "addresses" {
  description = "Addresses owned by a node rather than by one of its instances, by node."
  type = map(object({
    zone    = string
    address = string
  }))
  default = {}
  validation {
    condition     = alltrue([for a in var.addresses : can(cidrhost("${a.address}/32", 0))])
    error_message = "addresses: the local cloud chooses addresses before the run; each must be an IPv4 address."
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
    condition     = length(var.retags) == 0
    error_message = "retags: the local cloud has no tags."
  }
}
