"""Process groups on tpu: the c10d backend ``tpu_dist`` (also ``tpu``)."""
