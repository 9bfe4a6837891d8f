"""Writes into memory that the call also reads are refused where the CPU refuses them."""

import pytest
import torch

INDEX = torch.tensor([0, 2, 1])
WRITES = {
    "copy_": lambda x, i: x[1:].copy_(x[:-1]),
    "copy_ cast": lambda x, i: x.view(torch.int32)[1:].copy_(x[:-1]),
    "copy_ onto expanded": lambda x, i: x[:1].expand(4, 3).copy_(x),
    "copy_ of itself": lambda x, i: x.copy_(x.view(4, 3)),
    "copy_ of a row": lambda x, i: x.copy_(x[0]),
    "copy_ of the transposed": lambda x, i: x[:3].copy_(x[:3].t()),
    "setitem": lambda x, i: x.__setitem__(slice(1, None), x[:-1]),
    "add_ shifted": lambda x, i: x[1:].add_(x[:-1]),
    "add_ transposed": lambda x, i: x[:3].add_(x[:3].t()),
    "add_ itself": lambda x, i: x.add_(x),
    "add_ row": lambda x, i: x.add_(x[0]),
    "mul_ expanded": lambda x, i: x[:1].expand(4, 3).mul_(2),
    "fill_ expanded": lambda x, i: x[:1].expand(4, 3).fill_(2),
    "zero_ expanded": lambda x, i: x[:1].expand(4, 3).zero_(),
    "normal_ expanded": lambda x, i: x[:1].expand(4, 3).normal_(),
    "add out=": lambda x, i: torch.add(x[:-1], 1, out=x[1:]),
    "add out=self": lambda x, i: torch.add(x, 1, out=x),
    "exp out= transposed": lambda x, i: torch.exp(x[:3], out=x[:3].t()),
    "exp out= expanded": lambda x, i: torch.exp(x, out=torch.empty_like(x[:1]).expand(4, 3)),
    "where out=": lambda x, i: torch.where(x[1:] > 0, x[1:], x[1:], out=x[:-1]),
    "cat out=": lambda x, i: torch.cat([x[:1], x[2:3]], out=x[1:3]),
    "gather out=self": lambda x, i: torch.gather(x, 0, i.expand(4, 3), out=x),
    "index_select out=": lambda x, i: torch.index_select(x, 0, i, out=x[1:]),
    "take out=self": lambda x, i: torch.take(x, i, out=x[0]),
    "index_add_ itself": lambda x, i: x.index_add_(1, i, x),
    "index_copy_ itself": lambda x, i: x.index_copy_(1, i, x),
    "scatter_ itself": lambda x, i: x.scatter_(1, i.expand(4, 3), x),
    "scatter_add_ a part": lambda x, i: x[:2].scatter_add_(1, i.expand(1, 3), x[1:]),
    "index_put_": lambda x, i: x.__setitem__(i, x[1:]),
    "masked_fill_": lambda x, i: x[1:].masked_fill_(x[1:] > 5, 0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_as_the_cpu(write):
    ours, expected = (torch.arange(12.0, device=device).view(4, 3) for device in ("tpu", "cpu"))
    try:
        write(expected, INDEX)
    except RuntimeError as error:
        with pytest.raises(type(error), match="memory location|overlap"):
            write(ours, INDEX.to("tpu"))
    else:
        write(ours, INDEX.to("tpu"))
    torch.testing.assert_close(ours.cpu(), expected)
