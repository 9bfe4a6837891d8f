"""``torch.compile`` for tpu: the backend, what Dynamo is told, and how a graph is run."""
