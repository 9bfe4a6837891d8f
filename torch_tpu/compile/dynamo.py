"""What TorchDynamo does for the devices that it knows by name, done for tpu too."""

from __future__ import annotations

import functools


def install() -> None:
    """Makes an optimizer whose step is compiled keep its step counts on tpu, as on CUDA."""
    from torch._dynamo.variables.optimizer import OptimizerVariable

    known = OptimizerVariable._set_capturable
    if hasattr(known, "__wrapped__"):
        return

    @functools.wraps(known)
    def set_capturable(self, tx):
        for group in self.value.param_groups:
            parameters = group["params"]
            if "capturable" in group and all(
                p.device.type == "tpu" and p not in self.value.state for p in parameters
            ):
                group["capturable"] = True
        return known(self, tx)

    OptimizerVariable._set_capturable = set_capturable
