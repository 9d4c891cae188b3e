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
  description = "DigitalOcean's own: `vpc` (uuid), `firewall_tag`, and `ssh_keys` (ids, a space between) where there are any."
  type        = map(string)
  validation {
    condition     = can(regex("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", var.cloud["vpc"]))
    error_message = "cloud: `vpc` must be the uuid of a VPC of the region."
  }
  validation {
    condition     = can(regex("^[a-z0-9:_-]{1,255}$", var.cloud["firewall_tag"]))
    error_message = "cloud: `firewall_tag` must be the tag the firewall goes by; without it a VM would be open to everybody."
  }
  validation {
    condition     = can(regex("^([0-9]+( [0-9]+)*)?$", lookup(var.cloud, "ssh_keys", "")))
    error_message = "cloud: `ssh_keys` must be ids of SSH keys of the account with a space between."
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
    condition     = alltrue([for i in var.instances : !i.spot])
    error_message = "instances: DigitalOcean has no pre-emptible VMs."
  }
  validation {
    condition     = alltrue([for k, i in var.instances : k == "${i.node}.g${i.generation}"])
    error_message = "instances: the key must be `<node>.g<generation>`."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^[a-z0-9][a-z0-9-]*$", i.node)) && i.intent_id != ""])
    error_message = "instances: node is made of a-z, 0-9 and '-', and every VM carries its intent id."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^[0-9]+$", i.image))])
    error_message = "instances: image must be the id of an image, a number; a slug could mean another one tomorrow."
  }
  validation {
    # The length of its base64 tells bytes; `length` counts characters.
    condition     = alltrue([for i in var.instances : length(base64encode(i.boot_data)) <= 87384])
    error_message = "instances: boot_data is at most 64 KiB (DigitalOcean's limit of user data)."
  }
  validation {
    condition     = alltrue([for i in var.instances : i.address == null])
    error_message = "instances: DigitalOcean chooses a VM's private address; address must be null."
  }
  validation {
    condition     = alltrue([for i in var.instances : can(regex("^[a-z0-9-]+$", i.zone))])
    error_message = "instances: zone is a label of a-z, 0-9 and '-'."
  }
  validation {
    condition = alltrue(flatten([
      for i in var.instances : [for k, v in i.tags : can(regex("^[a-z0-9:_-]{1,255}$", "${k}:${v}"))]
    ]))
    error_message = "instances: a tag is of a-z, 0-9, ':', '_' and '-', its key and value at most 254 together."
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
    condition     = alltrue([for v in var.volumes : v.type == null && v.iops == null && v.throughput_mib_per_s == null && v.kms_key == null])
    error_message = "volumes: DigitalOcean's are of one kind: no type, figures or key is taken."
  }
  validation {
    condition     = alltrue([for k, v in var.volumes : k == "${v.node}.${v.dir}.v${v.version}"])
    error_message = "volumes: the key must be `<node>.<dir>.v<version>`."
  }
  validation {
    condition     = alltrue([for v in var.volumes : v.size_gib >= 1])
    error_message = "volumes: size_gib must be at least 1."
  }
  validation {
    condition     = alltrue([for k, v in var.volumes : can(regex("^[a-z0-9.-]{1,200}$", k)) && can(regex("^[a-z0-9-]+$", v.zone))])
    error_message = "volumes: node, dir and zone are made of a-z, 0-9 and '-', at most 200 characters together."
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
    condition     = length(distinct(values(var.attachments)[*].volume)) == length(var.attachments)
    error_message = "attachments: a volume is on one instance at a time."
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
    error_message = "addresses: an address is null or an IPv4 address; DigitalOcean can own neither."
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
  type        = map(list(string))
  default     = {}
  validation {
    condition     = alltrue([for key in keys(var.retags) : can(regex("^(instance|root|nic|volume|address)/.", key))])
    error_message = "retags: the key must be `<word>/<key>`, the word being instance, root, nic, volume or address."
  }
}
