# A VM per generation. Frozen: whatever is rendered for it later, nothing of it changes; change is a new generation.
locals {
  network_tags = split(" ", var.cloud["network_tags"])

  labels = {
    kedge-installation = var.installation_id
    kedge-cluster-uid  = var.cluster_uid
    kedge-cluster-name = var.cluster_name
    kedge-region       = var.region
  }
}

resource "google_compute_instance" "instance" {
  #checkov:skip=CKV_GCP_40: a public address is given only where the pool asks for one (publicAddress)
  for_each = var.instances

  name         = local.instance_names[each.key]
  zone         = each.value.zone
  machine_type = each.value.shape
  labels       = lookup(var.retags, "instance/${each.key}", merge(each.value.tags, each.value.cost_tags))
  tags         = local.network_tags

  # The boot data is for cloud-init. Nobody gets in by keys of the project, by OS Login or by the serial console.
  metadata = {
    user-data              = each.value.boot_data
    kedge-intent           = each.value.intent_id
    block-project-ssh-keys = "TRUE"
    enable-oslogin         = "FALSE"
    serial-port-enable     = "FALSE"
  }

  # No disk of Google's is ever unencrypted; the keys are Google's own.
  boot_disk {
    auto_delete = true

    initialize_params {
      image  = each.value.image
      type   = "pd-balanced"
      labels = merge(local.labels, each.value.cost_tags) # for good: Google's provider changes none of a boot disk
    }
  }

  # A node's own address goes with the VM it was made with (addresses.tf).
  network_interface {
    subnetwork = var.cloud["subnetwork_${each.value.zone}"]
    network_ip = (
      contains(keys(var.bindings), each.key)
      ? google_compute_address.address[var.bindings[each.key].node].address
      : each.value.address
    )
    stack_type = each.value.ipv6 ? "IPV4_IPV6" : null

    # No `access_config`: no public address. With it Google gives one for as long as the VM runs.
    dynamic "access_config" {
      for_each = each.value.public_address ? ["PREMIUM"] : []

      content {
        network_tier = access_config.value
      }
    }

    # An address of the internet, of the subnetwork's own range; no rule lets anybody in by it.
    dynamic "ipv6_access_config" {
      for_each = each.value.ipv6 ? ["PREMIUM"] : []

      content {
        network_tier = ipv6_access_config.value
      }
    }
  }

  shielded_instance_config {
    enable_secure_boot          = true
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  # Pre-emptible: Google deletes it when it wants, which is a VM that is gone. Stopped it would hold its disk and its name.
  dynamic "scheduling" {
    for_each = each.value.spot ? ["SPOT"] : []

    content {
      provisioning_model          = "SPOT"
      preemptible                 = true
      automatic_restart           = false
      on_host_maintenance         = "TERMINATE"
      instance_termination_action = "DELETE"
    }
  }

  # No `service_account`: a VM has no rights in the project.

  lifecycle {
    ignore_changes = all
  }
}
