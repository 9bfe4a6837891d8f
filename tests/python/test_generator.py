"""Random generators: state, seeds, and what draws from them."""

import pickle
import threading

import pytest
import torch


def draw(n=8, **options):
    return torch.rand(n, device="tpu", **options).tolist()


def test_the_state_is_16_bytes_seed_and_offset():
    generator = torch.Generator(device="tpu").manual_seed(42)
    state = generator.get_state()
    assert state.dtype == torch.uint8 and state.device.type == "cpu" and state.shape == (16,)
    assert state.view(torch.int64).tolist() == [42, 0]
    draw(5, generator=generator)
    seed, offset = generator.get_state().view(torch.int64).tolist()
    assert seed == 42 == generator.initial_seed()
    assert offset == generator.get_offset() >= 8 and offset % 4 == 0


def test_a_state_brings_its_numbers_back():
    generator = torch.Generator(device="tpu")
    draw(3, generator=generator)
    state = generator.get_state()
    first = draw(generator=generator)
    assert draw(generator=generator) != first
    generator.set_state(state)
    assert draw(generator=generator) == first
    torch.tpu.set_rng_state(state)
    assert draw() == first
    torch.tpu.set_rng_state(state, "tpu:1")
    assert torch.rand(8, device="tpu:1").tolist() == first


def test_states_that_do_not_fit_are_errors():
    generator = torch.Generator(device="tpu")
    before = generator.get_state()
    with pytest.raises(RuntimeError, match="16 bytes, got 4"):
        generator.set_state(torch.zeros(4, dtype=torch.uint8))
    with pytest.raises(TypeError, match="ByteTensor"):
        generator.set_state(torch.zeros(16))
    with pytest.raises(RuntimeError, match="multiple of 4, got 3"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="multiple of 4, got 3"):
        generator.set_state(torch.tensor([1, 3]).view(torch.uint8))
    assert torch.equal(generator.get_state(), before)


def test_manual_seed_seeds_every_device():
    torch.manual_seed(7)
    first = [torch.rand(4, device=f"tpu:{i}").tolist() for i in range(2)]
    assert first[0] == first[1]
    torch.manual_seed(7)
    assert torch.rand(4, device="tpu:1").tolist() == first[1]
    torch.tpu.manual_seed_all(7)
    assert draw(4) == first[0] and torch.tpu.initial_seed() == 7
    torch.tpu.manual_seed(8)
    assert torch.tpu.initial_seed() == 8
    with torch.tpu.device(1):
        assert torch.tpu.initial_seed() == 7


def test_seeds_of_every_size():
    for seed in (0, -1, -(2**63), 2**64 - 1):
        torch.manual_seed(seed)
        expected = torch.Generator(device="tpu").manual_seed(seed).initial_seed()
        assert torch.tpu.initial_seed() == expected == seed % 2**64
    with pytest.raises(RuntimeError, match="2\\*\\*64"):
        torch.tpu.manual_seed_all(2**64)


def test_seed_is_new_each_time():
    torch.tpu.seed()
    first = torch.tpu.initial_seed()
    torch.tpu.seed_all()
    assert torch.tpu.initial_seed() != first
    with torch.tpu.device(1):
        second = torch.tpu.initial_seed()
    assert second == torch.tpu.initial_seed()


def test_default_generators_keep_their_identity():
    generators = torch.tpu.default_generators
    assert generators is torch.tpu.default_generators and len(generators) == 2
    assert [g.device for g in generators] == [torch.device("tpu:0"), torch.device("tpu:1")]
    generators[1].manual_seed(5)
    with torch.tpu.device(1):
        assert torch.tpu.initial_seed() == 5


def test_fork_rng_restores_the_device():
    torch.manual_seed(1)
    expected = draw()
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[0, 1]):
        torch.manual_seed(2)
        draw()
    assert draw() == expected


def test_all_states_at_once():
    torch.manual_seed(1)
    states = torch.tpu.get_rng_state_all()
    assert len(states) == 2
    first = draw()
    torch.tpu.set_rng_state_all(states)
    assert draw() == first


def test_a_clone_is_independent_and_a_graphsafe_state_is_shared():
    generator = torch.Generator(device="tpu").manual_seed(3)
    clone = generator.clone_state()
    draw(generator=generator)
    once = generator.get_offset()
    assert clone.get_offset() == 0 and once > 0
    shared = generator.graphsafe_get_state()
    draw(generator=generator)
    assert shared.get_offset() == generator.get_offset() == 2 * once
    generator.graphsafe_set_state(clone)
    assert generator.get_offset() == 0
    draw(generator=clone)
    assert generator.get_offset() == once


def test_a_generator_can_be_pickled():
    generator = torch.Generator(device="tpu:1").manual_seed(3)
    draw_on_1 = torch.rand(4, device="tpu:1", generator=generator)
    copy = pickle.loads(pickle.dumps(generator))
    assert copy.device == torch.device("tpu:1") and copy.get_offset() == generator.get_offset()
    numbers = [torch.rand(4, device="tpu:1", generator=g).tolist() for g in (copy, generator)]
    assert numbers[0] == numbers[1] != draw_on_1.tolist()


def test_a_cpu_generator_is_refused():
    with pytest.raises(RuntimeError, match="Expected a 'tpu' device type for generator"):
        torch.rand(3, device="tpu", generator=torch.Generator())


def test_threads_share_a_generator_without_losing_numbers():
    generator = torch.Generator(device="tpu").manual_seed(3)
    draw(4, generator=generator)
    once = generator.get_offset()
    threads = [
        threading.Thread(target=lambda: [draw(4, generator=generator) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert generator.get_offset() == once * (1 + 4 * 20)


def test_checkpoint_draws_the_same_dropout_again():
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(64, device="tpu", requires_grad=True)
    torch.manual_seed(1)
    y = checkpoint(lambda v: torch.nn.functional.dropout(v, 0.5), x, use_reentrant=False)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
