"""Collectives on tpu against Gloo on the CPU, on four ranks."""

import pytest
import torch
import torch.distributed as dist
from ranks import Ranks, mine
from torch.distributed import ReduceOp

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.uint8, torch.int32, torch.int64]
# What Gloo cannot reduce, and the dtype that says what is right.
WIDER = {
    torch.int16: torch.int32,
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
    torch.float8_e5m2: torch.float32,
}
MOVED = [*FLOATS, *INTS, torch.bool, torch.complex64, torch.complex128]


class TestCollectives(Ranks):
    def test_all_reduce_of_every_dtype_and_operator(self):
        for dtype in [*FLOATS, *INTS]:
            names = ["SUM", "PRODUCT", "MIN", "MAX"]
            names += ["AVG"] if dtype.is_floating_point else ["BAND", "BOR", "BXOR"]
            for name in names:
                reduce_op = getattr(ReduceOp, name)

                def run(x, op=reduce_op):
                    dist.all_reduce(x, op)
                    return x

                self.check(run, mine(3, 5, dtype=dtype))

    def test_all_reduce_of_dtypes_that_gloo_has_not(self):
        for dtype, wider in WIDER.items():
            for name in ("SUM", "PRODUCT", "MIN", "MAX"):
                want, got = mine(7, dtype=dtype).to(wider), mine(7, dtype=dtype).to("tpu")
                dist.all_reduce(want, getattr(ReduceOp, name))
                dist.all_reduce(got, getattr(ReduceOp, name))
                torch.testing.assert_close(got.cpu(), want.to(dtype))

    def test_all_reduce_of_uint64_orders_large_numbers(self):
        large = torch.tensor([2**63 + 5 * self.rank, self.rank], dtype=torch.uint64)
        for op, want in ((ReduceOp.MAX, [2**63 + 15, 3]), (ReduceOp.MIN, [2**63, 0])):
            x = large.to("tpu")
            dist.all_reduce(x, op)
            assert x.cpu().tolist() == want

    def test_all_reduce_of_bool_is_any_and_all(self):
        x = mine(40, dtype=torch.bool)
        counts = x.int()
        dist.all_reduce(counts)
        for op, want in (
            (ReduceOp.SUM, counts > 0),
            (ReduceOp.MAX, counts > 0),
            (ReduceOp.BOR, counts > 0),
            (ReduceOp.PRODUCT, counts == 4),
            (ReduceOp.MIN, counts == 4),
            (ReduceOp.BAND, counts == 4),
            (ReduceOp.BXOR, counts % 2 == 1),
        ):
            y = x.to("tpu")
            dist.all_reduce(y, op)
            assert torch.equal(y.cpu(), want), op
        with pytest.raises(RuntimeError, match="avg"):
            dist.all_reduce(x.to("tpu"), ReduceOp.AVG)

    def test_average_of_integers_is_their_floor(self):
        x = torch.tensor([self.rank, -self.rank, 8], dtype=torch.int32, device="tpu")
        dist.all_reduce(x, ReduceOp.AVG)
        assert x.tolist() == [1, -2, 8]

    def test_complex_and_premultiplied_sums(self):
        def total(x):
            dist.all_reduce(x)
            return x

        self.check(total, mine(4, dtype=torch.complex64))
        for factor in (0.5, torch.tensor(0.5)):
            x = mine(6)
            want = x * 0.5
            dist.all_reduce(want)
            y = x.to("tpu")
            dist.all_reduce(y, dist._make_nccl_premul_sum(factor))
            torch.testing.assert_close(y.cpu(), want)

    def test_strided_and_offset_tensors(self):
        def packed(tensor, collective):
            """Gloo takes strided CPU tensors for packed ones."""
            if tensor.device.type == "tpu":
                return collective(tensor)
            copy = tensor.contiguous()
            collective(copy)
            tensor.copy_(copy)

        def columns(x):
            view = x.t()[1:4, ::2]
            packed(view, dist.all_reduce)
            return [view, x]

        def tail(x):
            dist.all_reduce(x[2:])
            return x

        def gathered(x):
            out = torch.zeros(8, 3, device=x.device).t()
            mine = x.t()[:, :2]
            if x.device.type == "tpu":
                dist.all_gather(list(out.chunk(4, dim=1)), mine)
                return out
            parts = [torch.zeros(3, 2) for _ in range(4)]
            dist.all_gather(parts, mine.contiguous())
            return out.copy_(torch.cat(parts, 1))

        self.check(columns, mine(6, 5))
        self.check(tail, mine(5, 3))
        self.check(gathered, mine(4, 3).contiguous())

    def test_broadcast_and_reduce_from_every_root(self):
        for root in range(4):
            for dtype in MOVED:

                def cast(x, root=root):
                    # Gloo moves no complex numbers.
                    pairs = x.is_complex() and x.device.type == "cpu"
                    dist.broadcast(torch.view_as_real(x) if pairs else x, root)
                    return x

                self.check(cast, mine(3, 2, dtype=dtype))

            def reduced(x, root=root):
                dist.reduce(x, root)
                return x if self.rank == root else []  # Gloo leaves partial sums elsewhere

            self.check(reduced, mine(9))

    def test_all_gather(self):
        def as_list(x):
            out = [torch.empty_like(x) for _ in range(4)]
            dist.all_gather(out, x)
            return out

        def into(x):
            out = x.new_empty(4 * x.shape[0], *x.shape[1:])
            dist.all_gather_into_tensor(out, x)
            return out

        for dtype in MOVED:
            self.check(as_list, mine(2, 3, dtype=dtype))
            if not dtype.is_complex:
                self.check(into, mine(2, 3, dtype=dtype))
        # The input may lie in the output.
        out = torch.zeros(8, device="tpu")
        part = out[2 * self.rank : 2 * self.rank + 2]
        part.fill_(self.rank)
        dist.all_gather_into_tensor(out, part)
        assert out.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]

    def test_all_gather_of_uneven_sizes(self):
        out = [torch.empty(r, 2, device="tpu") for r in range(4)]
        dist.all_gather(out, torch.full((self.rank, 2), float(self.rank), device="tpu"))
        assert [x.cpu().tolist() for x in out] == [[[float(r)] * 2] * r for r in range(4)]

    def test_reduce_scatter(self):
        def tensor(x):
            out = x.new_empty(x.shape[0] // 4, *x.shape[1:])
            dist.reduce_scatter_tensor(out, x)
            return out

        def as_list(x):
            out = torch.empty_like(x[0])
            dist.reduce_scatter(out, list(x))
            return out

        for dtype in [*FLOATS, torch.int64]:
            self.check(tensor, mine(8, 3, dtype=dtype), rtol=1e-2, atol=1e-2)
            self.check(as_list, mine(4, 3, dtype=dtype), rtol=1e-2, atol=1e-2)
        for op, want in ((ReduceOp.AVG, 1.5), (ReduceOp.MAX, 3.0), (ReduceOp.PRODUCT, 0.0)):
            x, out = torch.full((4,), float(self.rank), device="tpu"), torch.empty(1, device="tpu")
            dist.reduce_scatter_tensor(out, x, op)
            assert out.item() == want
        uneven = [torch.full((r + 1,), float(self.rank), device="tpu") for r in range(4)]
        out = torch.empty(self.rank + 1, device="tpu")
        dist.reduce_scatter(out, uneven)
        assert out.tolist() == [6.0] * (self.rank + 1)

    def test_gather_and_scatter(self):
        for root in (0, 3):
            at_root = self.rank == root

            def gather(x, root=root, at_root=at_root):
                out = [torch.empty_like(x) for _ in range(4)] if at_root else None
                dist.gather(x, out, dst=root)
                return out or []

            def scatter(x, root=root, at_root=at_root):
                out = torch.empty_like(x[0])
                dist.scatter(out, list(x) if at_root else None, src=root)
                return out

            self.check(gather, mine(2, 3))
            self.check(scatter, mine(4, 2, 3))

    def test_all_to_all(self):
        def single(x):
            out = torch.empty_like(x)
            dist.all_to_all_single(out, x)
            return out

        for dtype in (torch.float32, torch.bfloat16, torch.int64):
            self.check(single, mine(8, 3, dtype=dtype))
        ins = [r + 1 for r in range(4)]  # to rank r
        outs = [self.rank + 1] * 4
        x = torch.arange(sum(ins) * 2.0).view(-1, 2) + 100 * self.rank

        def uneven(x):
            out = x.new_empty(sum(outs), 2)
            dist.all_to_all_single(out, x, outs, ins)
            return out

        self.check(uneven, x)
        got = [torch.empty(self.rank + 1, 2, device="tpu") for _ in range(4)]
        dist.all_to_all(got, list(x.to("tpu").split(ins)))
        want = x.new_empty(sum(outs), 2)
        dist.all_to_all_single(want, x, outs, ins)
        assert torch.equal(torch.cat(got).cpu(), want)

    def test_send_and_receive(self):
        right, left = (self.rank + 1) % 4, (self.rank - 1) % 4

        def ring(x):
            out = torch.empty_like(x)
            for work in dist.batch_isend_irecv(
                [dist.P2POp(dist.irecv, out, left), dist.P2POp(dist.isend, x, right)]
            ):
                work.wait()
            return out

        def in_order(x):
            out = torch.zeros(3, 2, device=x.device)
            works = [dist.irecv(out[i], left, tag=7) for i in range(3)]
            works += [dist.isend(x[i], right, tag=7) for i in range(3)]
            for work in works:
                work.wait()
            return out

        self.check(ring, mine(5, dtype=torch.float16))
        self.check(in_order, mine(3, 2))
        if self.rank == 0:
            seen = set()
            for _ in range(3):
                x = torch.empty(2, device="tpu")
                source = dist.recv(x)
                assert x.tolist() == [source, source]
                seen.add(source)
            assert seen == {1, 2, 3}
        else:
            dist.send(torch.full((2,), float(self.rank), device="tpu"), 0)

    def test_handles(self):
        x = torch.ones(1000, device="tpu")
        work = dist.all_reduce(x, async_op=True)
        assert work.wait() and work.is_completed() and work.is_success()
        assert x.sum().item() == 4000
        works = [dist.all_reduce(torch.ones(10, device="tpu"), async_op=True) for _ in range(20)]
        for work in works:
            assert work.get_future().wait()[0].tolist() == [4.0] * 10
        doubled = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
        assert doubled.wait()[0].item() == 32

    def test_what_was_read_is_what_was_there_at_the_call(self):
        big = torch.full((200_000,), 1.0, device="tpu")
        out = torch.empty(4, 200_000, device="tpu")
        work = dist.all_gather_into_tensor(out, big, async_op=True)
        big.add_(1)
        work.wait()
        assert (out == 1).all().item() and (big == 2).all().item()

    def test_coalesced(self):
        xs = [torch.full((i + 1,), float(self.rank), device="tpu") for i in range(3)]
        with dist._coalescing_manager(device=torch.device("tpu"), async_ops=True) as manager:
            for x in xs:
                dist.all_reduce(x)
        manager.wait()
        assert [x.tolist() for x in xs] == [[6.0], [6.0] * 2, [6.0] * 3]
        outs = [torch.empty(4 * (i + 1), device="tpu") for i in range(3)]
        with dist._coalescing_manager(device=torch.device("tpu")):
            for out, x in zip(outs, xs, strict=True):
                dist.all_gather_into_tensor(out, x)
        assert outs[2].tolist() == [6.0] * 12

    def test_objects(self):
        out = [None] * 4
        dist.all_gather_object(out, {"rank": self.rank, "text": "x" * self.rank})
        assert out == [{"rank": r, "text": "x" * r} for r in range(4)]
        objects = [self.rank, "a"] if self.rank == 2 else [None, None]
        dist.broadcast_object_list(objects, src=2, device=torch.device("tpu"))
        assert objects == [2, "a"]

    def test_groups(self):
        pairs = [dist.new_group(ranks) for ranks in ([0, 1], [3, 2])]
        pair = pairs[self.rank // 2]
        x = torch.tensor([float(self.rank)], device="tpu")
        dist.all_reduce(x, group=pair)
        assert x.item() == (1.0 if self.rank < 2 else 5.0)
        y = torch.tensor([float(self.rank)], device="tpu")
        dist.broadcast(y, src=3 if self.rank > 1 else 0, group=pair)
        assert y.item() == (3.0 if self.rank > 1 else 0.0)

    def test_group_of_one_needs_nobody(self):
        groups = [dist.new_group([r], backend="tpu_dist") for r in range(4)]
        alone = groups[self.rank]
        x = torch.arange(4.0, device="tpu")
        before = torch.tpu.stats()["launches"]
        dist.all_reduce(x, group=alone)
        dist.barrier(group=alone)
        dist.broadcast(x, self.rank, group=alone)
        assert torch.tpu.stats()["launches"] == before
        out = torch.empty(4, device="tpu")
        dist.all_gather_into_tensor(out, x, group=alone)
        dist.reduce_scatter_tensor(out, x, ReduceOp.AVG, group=alone)
        dist.all_to_all_single(out, x, group=alone)
        assert out.tolist() == x.tolist() == [0, 1, 2, 3]

    def test_bad_arguments_raise_at_the_call(self):
        x = torch.ones(3, device="tpu")
        with pytest.raises(ValueError, match=r"expected 4 times 3 elements .* got 5"):
            dist.all_gather_into_tensor(torch.empty(5, device="tpu"), x)
        with pytest.raises(RuntimeError, match="non-integral dtype"):
            dist.all_reduce(x, ReduceOp.BXOR)
        with pytest.raises(ValueError, match="split sizes that sum to 3, got a sum of 4"):
            dist.all_to_all_single(torch.empty(3, device="tpu"), x, [1] * 4, [1] * 4)
        dist.barrier()


if __name__ == "__main__":
    pytest.main([__file__])
