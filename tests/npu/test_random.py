# SPDX-License-Identifier: MIT
"""Random numbers on npu are those of the CPU for the same seed."""

import copy
import pickle

import pytest
import torch

DRAWS = {
    "randn": lambda d: torch.randn(1000, device=d),
    "randn_few": lambda d: torch.randn(7, device=d),
    "rand_bf16": lambda d: torch.rand(33, 5, dtype=torch.bfloat16, device=d),
    "randint": lambda d: torch.randint(0, 100, (50,), device=d),
    "randperm": lambda d: torch.randperm(100, device=d),
    "normal_": lambda d: torch.empty(40, device=d).normal_(1, 2),
    "bernoulli": lambda d: torch.bernoulli(torch.full((100,), 0.3, device=d)),
    "multinomial": lambda d: torch.multinomial(torch.ones(20, device=d), 5),
    "exponential_": lambda d: torch.empty(100, device=d).exponential_(),
    "poisson": lambda d: torch.poisson(torch.full((50,), 4.0, device=d)),
    "dropout": lambda d: torch.nn.functional.dropout(torch.ones(100, device=d)),
    "native_dropout": lambda d: torch.native_dropout(torch.ones(100, device=d), 0.5, True)[0],
    "gamma": lambda d: torch._standard_gamma(torch.full((50,), 2.0, device=d)),
    "init": lambda d: torch.nn.init.xavier_normal_(torch.empty(8, 8, device=d)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_numbers_of_the_cpu(name):
    draw = DRAWS[name]
    torch.manual_seed(1234)
    on_npu = [draw("npu"), draw("npu")]
    torch.manual_seed(1234)
    on_cpu = [draw("cpu"), draw("cpu")]
    for a, b in zip(on_npu, on_cpu, strict=True):
        assert a.device.type == "npu" and torch.equal(a.cpu(), b)


@pytest.mark.parametrize("name", DRAWS)
def test_drawing_on_npu_leaves_the_cpus_generator_alone(name):
    before = torch.get_rng_state()
    DRAWS[name]("npu")
    assert torch.equal(torch.get_rng_state(), before)


def test_each_device_has_a_sequence_of_its_own():
    torch.manual_seed(5)
    first = torch.randn(3, device="npu:0")
    torch.randn(3, device="npu:0")
    assert torch.equal(torch.randn(3, device="npu:1").cpu(), first.cpu())
    torch.npu.manual_seed(5)
    assert torch.npu.initial_seed() == 5
    assert torch.equal(torch.randn(3, device="npu"), first)


def test_generators_of_the_device_are_honoured_and_others_refused():
    a = torch.rand(5, device="npu", generator=torch.Generator("npu").manual_seed(9))
    b = torch.rand(5, generator=torch.Generator().manual_seed(9))
    assert torch.equal(a.cpu(), b)
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        torch.rand(5, device="npu", generator=torch.Generator())


def test_state_can_be_taken_and_put_back():
    state = torch.npu.get_rng_state()
    first = torch.randn(5, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.randn(5, device="npu"), first)
    states = torch.npu.get_rng_state_all()
    assert len(states) == torch.npu.device_count()
    second = torch.randn(5, device="npu")
    torch.npu.set_rng_state_all(states)
    assert torch.equal(torch.randn(5, device="npu"), second)


def test_a_clone_of_a_generator_continues_alike():
    generator = torch.Generator("npu:2").manual_seed(3)
    torch.rand(4, device="npu:2", generator=generator)
    copy = generator.clone_state() if hasattr(generator, "clone_state") else None
    if copy is None:
        pytest.skip("this PyTorch has no Generator.clone_state")
    assert torch.equal(torch.rand(4, device="npu:2", generator=copy), torch.rand(4, device="npu:2", generator=generator))


def test_fork_rng_restores_the_device():
    torch.manual_seed(0)
    expected = torch.randn(3, device="npu")
    torch.manual_seed(0)
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.randn(100, device="npu")
    assert torch.equal(torch.randn(3, device="npu"), expected)


def test_seed_all_gives_every_device_the_same_new_seed():
    before = torch.npu.initial_seed()
    torch.npu.seed_all()
    assert torch.npu.initial_seed() != before
    assert torch.equal(torch.randn(3, device="npu:1").cpu(), torch.randn(3, device="npu:2").cpu())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))], ids=["deepcopy", "pickle"])
def test_generators_can_be_copied_and_pickled(duplicate):
    generator = torch.Generator("npu:2").manual_seed(9)
    torch.rand(5, device="npu:2", generator=generator)
    other = duplicate(generator)
    assert other.device == generator.device and other.initial_seed() == 9
    assert torch.equal(torch.randn(4, device="npu:2", generator=other), torch.randn(4, device="npu:2", generator=generator))
