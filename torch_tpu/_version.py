"""The version, as CMake took it from pyproject.toml."""

try:
    from torch_tpu._C import version as __version__
except ImportError as error:
    raise ImportError(
        "torch_tpu: expected the compiled module torch_tpu._C, got none that loads. Run "
        "`make build` in a checkout, or `pip install .`"
    ) from error

__all__ = ["__version__"]
