"""CTC loss and its gradient against the CPU's: impossible, empty, repeated and short sequences."""

import pytest
import torch
from torch.nn.functional import ctc_loss

GEN = torch.Generator().manual_seed(0)
TARGETS = torch.tensor([[1, 1, 2, 3], [4, 2, 0, 0], [3, 3, 3, 3], [1, 2, 1, 2]])

# targets, input lengths, target lengths of 4 sequences of at most 9 steps over 5 classes
CASES = {
    "padded": (TARGETS, [9, 7, 8, 5], [4, 2, 4, 3]),
    "flat": (torch.tensor([1, 1, 2, 4, 2, 3, 1, 2, 1]), [9, 6, 2, 9], [3, 2, 1, 3]),
    "empty targets": (TARGETS, [9, 7, 0, 0], [0, 2, 0, 1]),
    "impossible": (TARGETS, [9, 7, 5, 1], [4, 2, 4, 3]),
    "int32": (TARGETS.clamp(min=1).int(), [9, 9, 9, 9], [4, 4, 4, 4]),
    "nothing": (torch.zeros(4, 0, dtype=torch.long), [9, 7, 3, 1], [0, 0, 0, 0]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, zero_infinity, dtype):
    targets, inputs, outputs = CASES[name]
    scores = torch.randn(9, 4, 5, dtype=dtype, generator=GEN)
    results = []
    before = dict(torch.tpu.stats()["fallbacks"])
    for device in ("cpu", "tpu"):
        leaf = scores.detach().to(device).requires_grad_()
        loss = ctc_loss(
            leaf.log_softmax(2),
            targets.to(device),
            torch.tensor(inputs),
            torch.tensor(outputs),
            reduction="none",
            zero_infinity=zero_infinity,
        )
        loss.sum().backward()
        results.append((loss.detach().cpu(), leaf.grad.cpu()))
    assert dict(torch.tpu.stats()["fallbacks"]) == before
    torch.testing.assert_close(results[1], results[0], equal_nan=True)


def test_other_lengths_are_no_other_program():
    scores = torch.randn(9, 2, 5, generator=GEN).log_softmax(2).to("tpu")
    targets = TARGETS[:2].to("tpu")
    ctc_loss(scores, targets, (9, 8), (4, 3), reduction="none")
    before = torch.tpu.stats()["compiles"]
    ctc_loss(scores, targets, (7, 9), (4, 2), reduction="none")
    assert torch.tpu.stats()["compiles"] == before


def test_errors():
    scores = torch.zeros(9, 4, 5, device="tpu")
    targets = TARGETS.to("tpu")
    for args in (
        (scores, targets, (10, 9, 9, 9), (4, 4, 4, 4)),
        (scores, targets, (9, 9, 9), (4, 4, 4)),
        (scores, targets, (9, 9, 9, 9), (5, 4, 4, 4)),
        (scores, targets, (9, 9, 9, 9), (4, 4, 4, 4), 5),
    ):
        with pytest.raises(RuntimeError):
            ctc_loss(*args)
