"""Module paths that third-party code written for the published ``torch_tpu`` imports."""
