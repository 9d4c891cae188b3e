# A VM is a process group that survives Terraform. No `triggers_replace`: nothing here may ever replace a VM, and
# `input` is frozen, so that a later rendering (another interpreter path, say) is not a change. The parameters go to
# the verb as JSON in its environment; there is no shell in between. `-S`: the verbs need no installed package, and
# looking for one takes as long as some of them.
locals {
  owner = {
    installation_id = var.installation_id
    cluster_uid     = var.cluster_uid
    region          = var.region
    root            = var.cloud["root"]
    python          = var.cloud["python"]
  }
}

resource "terraform_data" "instance" {
  for_each = var.instances
  input    = merge(local.owner, { key = each.key }, each.value)

  provisioner "local-exec" {
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "create-instance"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = [self.input.python, "-S", "-m", "providers.local"]
    command     = "destroy-instance"
    environment = { KEDGE_LOCAL_REQUEST = jsonencode(self.input) }
    quiet       = true
  }

  lifecycle {
    ignore_changes = [input]
  }
}
