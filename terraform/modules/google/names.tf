# Names are at most 63 characters (RFC 1035): the words are cut, the hash tells things apart. A test compares them with
# those of the fake of Google's API.
locals {
  owner = "${var.installation_id}/${var.cluster_uid}"

  instance_names = { for k, i in var.instances : k => join("-", [
    trim(substr(replace("k-${var.cluster_name}-${k}", ".", "-"), 0, 46), "-"),
    substr(sha256("${local.owner}/instance/${k}"), 0, 16),
  ]) }

  volume_names = { for k, v in var.volumes : k => join("-", [
    trim(substr(replace("k-${var.cluster_name}-${k}", ".", "-"), 0, 46), "-"),
    substr(sha256("${local.owner}/volume/${k}"), 0, 16),
  ]) }

  address_names = { for k, a in var.addresses : k => join("-", [
    trim(substr(replace("k-${var.cluster_name}-${k}", ".", "-"), 0, 46), "-"),
    substr(sha256("${local.owner}/address/${k}"), 0, 16),
  ]) }
}
