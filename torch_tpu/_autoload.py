"""Makes the device known to PyTorch: what ``import torch`` calls through ``torch.backends``.

Starts no plugin and prints nothing.
"""

import functools
import importlib.util
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType

NAME = "tpu"
_FOLDER = Path(__file__).parent

# As in csrc/pjrt/plugin.cc, which cannot be asked before the library is loaded.
_GOOGLE_VENDOR = "0x1ae0"
_TPU_DEVICES = {"0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def load() -> bool:
    """Registers the device; True if it is registered. Calling it again does nothing.

    Leaves a machine alone that has another accelerator, no TPU, and no setting that asks for us.
    """
    import torch

    if f"torch.{NAME}" in sys.modules:
        return True
    if not _is_wanted():
        return False
    taken_by = torch._C._get_privateuse1_backend_name()
    if taken_by not in ("privateuseone", NAME):
        warnings.warn(
            f"torch_tpu: expected PyTorch's place for a further device to be free, got '{taken_by}'"
            " there. The device tpu is not available; uninstall the other package to have it",
            stacklevel=2,
        )
        return False

    from torch_tpu import _C, _printing

    _C.set_plugin_search_dirs([path for path in sys.path if path])
    if taken_by != NAME:
        torch.utils.rename_privateuse1_backend(NAME)
        torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    module = _new_module(f"torch.{NAME}", _FOLDER / "tpu" / "__init__.py", is_package=True)
    torch._register_device_module(NAME, module)
    try:
        module.__spec__.loader.exec_module(module)
    except BaseException:
        del sys.modules[f"torch.{NAME}"]
        delattr(torch, NAME)
        raise
    backends = _new_module(f"torch.backends.{NAME}", _FOLDER / "_backends_module.py")
    sys.modules[backends.__name__] = backends
    backends.__spec__.loader.exec_module(backends)
    setattr(torch.backends, NAME, backends)
    torch.set_autocast_dtype(NAME, torch.bfloat16)
    _printing.install()
    _install_backend()
    _register_process_groups()
    return True


def _install_backend() -> None:
    import torch

    # A backend that is named is found by its entry point (pyproject.toml). Where none is, PyTorch
    # has no place to say which one a device prefers: torch.compile makes one of these.
    wrapper = torch._TorchCompileInductorWrapper
    make, inductor = wrapper.__init__, wrapper.__call__
    make_named = torch._TorchCompileWrapper.__init__

    @functools.wraps(make)
    def init(self, *args, **kwargs):
        from torch_tpu.compile import dynamo

        dynamo.install()
        make(self, *args, **kwargs)

    @functools.wraps(make_named)
    def init_named(self, backend, mode, options, dynamic):
        if backend == NAME:  # says what is wrong at torch.compile, not at the first call
            from torch_tpu.compile import backend as tpu

            tpu.check_options(options)
        make_named(self, backend, mode, options, dynamic)

    @functools.wraps(inductor)
    def call(self, model, inputs, **kwargs):
        from torch_tpu.compile import backend

        if backend.is_on_tpu(model, inputs):
            return backend.compile_graph(model, inputs)
        return inductor(self, model, inputs, **kwargs)

    wrapper.__init__, wrapper.__call__ = init, call
    torch._TorchCompileWrapper.__init__ = init_named


def _register_process_groups() -> None:
    import torch.distributed as dist

    if not dist.is_available():
        return

    def register(name: str) -> None:
        def make(options, backend_options):
            from torch_tpu.distributed import backend

            return backend.make(name, options, backend_options)

        dist.Backend.register_backend(name, make, extended_api=True, devices=[NAME])

    register("tpu_dist")  # the first one is the device's default
    register(NAME)

    # Of a group whose backend was left to the device, or that has several, PyTorch takes Gloo or
    # none as the default one, which DDP then looks for in vain.
    module = dist.distributed_c10d
    helper = module._new_process_group_helper

    @functools.wraps(helper)
    def new_group(*args, **kwargs):
        group, store = helper(*args, **kwargs)
        if isinstance(group, dist.ProcessGroup):
            from torch_tpu.distributed import backend

            backend.set_default(group)
        return group, store

    module._new_process_group_helper = new_group


def _new_module(name: str, path: Path, is_package: bool = False) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=[str(path.parent)] if is_package else None
    )
    return importlib.util.module_from_spec(spec)


def _is_wanted() -> bool:
    if os.environ.get("TORCH_TPU_PLATFORM", "auto") not in ("", "auto"):
        return True
    if os.environ.get("TORCH_TPU_PJRT_PLUGIN"):
        return True
    return not _has_other_accelerator() or _has_tpu()


def _has_other_accelerator() -> bool:
    import torch

    accelerator = torch._C._accelerator_getAccelerator()
    if accelerator is None or accelerator.type == torch._C._get_privateuse1_backend_name():
        return False
    if accelerator.type == "cuda":
        return torch.cuda.device_count() > 0  # unlike is_available, leaves fork() usable
    return torch.get_device_module(accelerator).is_available()


def _has_tpu(sysfs: Path = Path("/sys/bus/pci/devices")) -> bool:
    for device in sysfs.glob("*"):
        try:
            vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "device"))
        except OSError:
            continue
        if vendor == _GOOGLE_VENDOR and kind in _TPU_DEVICES:
            return True
    return False
