# A network for the clusters of one project and network zone. It is safe to apply by hand; what it gives goes into
# `hetzner.yaml`. A network of Hetzner takes 100 VMs: more need a project of their own.

variable "installation_id" {
  description = "Marks what belongs to one Kedge, as in the modules of the clusters."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.installation_id))
    error_message = "installation_id: 1-63 of a-z, 0-9 and '-', not starting or ending with '-'."
  }
}

variable "name" {
  description = "Name of the network, for people."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$", var.name))
    error_message = "name: 1-48 of a-z, 0-9 and '-', not starting or ending with '-'."
  }
}

variable "region" {
  description = "Network zone: what Hetzner calls a region of locations that share a network."
  type        = string
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]*$", var.region))
    error_message = "region: a-z, 0-9 and '-'."
  }
}

variable "cidr" {
  description = "Addresses of both networks. Those that are to reach one another must not overlap; Kedge sees to that for those it makes."
  type        = string
  validation {
    condition     = can(cidrnetmask(var.cidr)) && tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 22
    error_message = "cidr: an IPv4 network of /16 to /22."
  }
}

variable "zones" {
  description = "Zone -> number of its subnet, which never changes: numbers are kept for zones that come later."
  type        = map(number)
  validation {
    condition     = length(var.zones) >= 1 && alltrue([for n in values(var.zones) : n >= 0 && n <= 15 && floor(n) == n])
    error_message = "zones: at least one, each with a number of 0 to 15 (a subnet is a sixteenth of the first network)."
  }
  validation {
    condition     = length(distinct(values(var.zones))) == length(var.zones)
    error_message = "zones: each zone has a number of its own."
  }
}

variable "clients" {
  description = "Networks clients of Kafka come from, by CIDR; none are let in otherwise."
  type        = set(string)
  default     = []
  validation {
    condition     = alltrue([for c in var.clients : can(cidrnetmask(c))])
    error_message = "clients: each is an IPv4 network, as 10.8.0.0/16."
  }
}

variable "broker_ports" {
  description = "TCP ports brokers serve at: those clients are let in at, and members."
  type        = set(number)
  default     = [9092]
  validation {
    condition     = length(var.broker_ports) >= 1 && alltrue([for p in var.broker_ports : p >= 1 && p <= 65535 && floor(p) == p])
    error_message = "broker_ports: at least one, each of 1 to 65535."
  }
}

variable "port_clients" {
  description = "Port of brokers -> networks clients come from that are let in there instead of `clients`, by CIDR. None unless a listener names its own."
  type        = map(set(string))
  default     = {}
  validation {
    condition     = alltrue([for port in keys(var.port_clients) : contains([for p in var.broker_ports : tostring(p)], port)])
    error_message = "port_clients: each port is one of `broker_ports`."
  }
  validation {
    condition     = alltrue([for c in flatten([for told in values(var.port_clients) : tolist(told)]) : can(cidrnetmask(c))])
    error_message = "port_clients: each is an IPv4 network, as 10.8.0.0/16."
  }
}

variable "member_ports" {
  description = "TCP ports only members reach, one another's: of controllers, and 2181, 2888 and 3888 where a cluster has a ZooKeeper ensemble. None of them is one of `broker_ports`."
  type        = set(number)
  default     = [9093]
  validation {
    condition     = length(var.member_ports) >= 1 && alltrue([for p in var.member_ports : p >= 1 && p <= 65535 && floor(p) == p])
    error_message = "member_ports: at least one, each of 1 to 65535."
  }
}

variable "peers" {
  description = "Networks of members in other places of their clusters, by CIDR, as for every cloud: VMs let them in by themselves, and nothing is made for them here."
  type        = set(string)
  default     = []
  validation {
    condition     = alltrue([for p in var.peers : can(cidrnetmask(p))])
    error_message = "peers: each is an IPv4 network, as 10.65.0.0/20."
  }
}

variable "servers" {
  description = "Where the servers of Kedge dial from, by CIDR: let in at `server_ports`, so that they see the clusters they keep. None unless told."
  type        = set(string)
  default     = []
  validation {
    condition     = alltrue([for s in var.servers : can(cidrnetmask(s))])
    error_message = "servers: each is an IPv4 network, as 10.0.0.5/32."
  }
}

variable "server_ports" {
  description = "TCP ports servers of Kedge dial: of brokers, and of ZooKeeper and controllers while a cluster is in ZooKeeper mode."
  type        = set(number)
  default     = [9092]
  validation {
    condition     = length(var.server_ports) >= 1 && alltrue([for p in var.server_ports : p >= 1 && p <= 65535 && floor(p) == p])
    error_message = "server_ports: at least one, each of 1 to 65535."
  }
}

variable "overlay_ports" {
  description = "UDP ports at which members make tunnels of an overlay: let in from members, in other places too. None unless a cluster has one."
  type        = set(number)
  default     = []
  validation {
    condition     = alltrue([for p in var.overlay_ports : p >= 1024 && p <= 65535 && floor(p) == p])
    error_message = "overlay_ports: each of 1024 to 65535."
  }
}

variable "open_overlay_ports" {
  description = "UDP ports of tunnels that anybody may call, as members behind NAT and in other clouds do: WireGuard answers nobody without a key. None unless VMs have public addresses."
  type        = set(number)
  default     = []
  validation {
    condition     = alltrue([for p in var.open_overlay_ports : p >= 1024 && p <= 65535 && floor(p) == p && !contains(var.overlay_ports, p)])
    error_message = "open_overlay_ports: each of 1024 to 65535, and none of `overlay_ports`."
  }
}

variable "cloud" {
  description = "Hetzner's own: `placement_groups`, how many (5 when not told); a project may have 50."
  type        = map(string)
  default     = {}
  validation {
    condition     = can(regex("^([0-9]|[1-4][0-9]|50)$", lookup(var.cloud, "placement_groups", "5")))
    error_message = "cloud: `placement_groups` must be a number of 0 to 50."
  }
}
