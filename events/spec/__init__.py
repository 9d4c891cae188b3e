"""What people ask for: the `KafkaCluster` document, read from YAML, judged, compared and digested.

`load_documents` is the way in from a file, `from_data` from an event; `check_change` judges a new version of a spec,
`differences` says what a change costs, `instance_digest` which VMs it concerns.
"""
