# SPDX-License-Identifier: MIT
"""Operators without a kernel for the chip run the CPU's on the same bytes: arguments, results and errors are the device's own."""

import warnings
import pytest
import torch

from ascend_sim import _C


def npu(*shape, **options):
    return torch.randn(*shape, device="npu", **options)


def test_in_place_operators_write_the_tensor_itself():
    a = torch.ones(4, device="npu")
    address = a.data_ptr()
    assert a.add_(2).mul_(3) is a
    assert a.data_ptr() == address and a.tolist() == [9, 9, 9, 9]


def test_in_place_on_a_view_writes_the_base():
    a = torch.zeros(3, 4, device="npu")
    a[:, 1].add_(1)
    a.t()[3].erfinv_().sub_(2)
    assert a.tolist() == [[0, 1, 0, -2]] * 3


def test_results_that_are_views_share_the_storage():
    a = torch.arange(12.0, device="npu").view(3, 4)
    for view in (a.unfold(1, 2, 2), a.diagonal(), a.t(), a.squeeze(), a.movedim(0, 1), a.narrow(1, 1, 2)):
        assert view.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()
        assert view._base is a or view._is_view()
    a.unfold(1, 2, 2).zero_()
    assert a.abs().sum() == 0


def test_out_arguments_are_resized_and_returned():
    out = torch.empty(0, device="npu")
    a = npu(5, 6)
    assert torch.hypot(a, a, out=out) is out
    assert out.shape == (5, 6) and torch.equal(out.cpu(), torch.hypot(a.cpu(), a.cpu()))
    assert _C.allocation_of(out.data_ptr())[0] == 0


def test_out_arguments_that_fit_keep_their_memory_and_strides():
    out = torch.empty(6, 5, device="npu").t()
    address = out.data_ptr()
    a = npu(5, 6)
    torch.add(a, a, out=out)
    assert out.data_ptr() == address and out.stride() == (1, 5) and torch.equal(out.cpu(), (a + a).cpu())


def test_several_outs_and_results():
    values, indices = torch.empty(0, device="npu"), torch.empty(0, dtype=torch.long, device="npu")
    a = npu(4, 9)
    torch.topk(a, 3, out=(values, indices))
    expected = torch.topk(a.cpu(), 3)
    assert torch.equal(values.cpu(), expected.values) and torch.equal(indices.cpu(), expected.indices)
    u, s, v = torch.linalg.svd(a)
    assert {t.device.type for t in (u, s, v)} == {"npu"}


def test_strides_and_layout_of_results_are_those_of_the_cpu():
    a = npu(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert (a + 1).stride() == (a.cpu() + 1).stride()
    assert torch.nn.functional.max_pool2d(a, 2).stride() == torch.nn.functional.max_pool2d(a.cpu(), 2).stride()


def test_lists_of_tensors_and_optional_indices():
    a = npu(6, 4)
    assert torch.equal(torch.cat([a, a[:2]]).cpu(), torch.cat([a.cpu(), a.cpu()[:2]]))
    index = torch.tensor([0, 2, 5], device="npu")
    assert torch.equal(a[index, :, None].cpu(), a.cpu()[index.cpu(), :, None])
    assert torch.equal(a[:, torch.tensor([1, 3])].cpu(), a.cpu()[:, [1, 3]])        # indices may stay on the CPU
    a[index] = 0
    assert a.cpu()[[0, 2, 5]].abs().sum() == 0
    pieces = torch.split(a, [1, 2, 3])
    assert [p.shape[0] for p in pieces] == [1, 2, 3] and pieces[1].untyped_storage().data_ptr() == a.untyped_storage().data_ptr()


def test_long_lists_work_as_short_ones():
    tensors = [torch.full((3,), float(i), device="npu") for i in range(100)]
    torch._foreach_add_(tensors, 1.0)
    torch._foreach_mul_(tensors, tensors)
    assert [t[0].item() for t in tensors] == [(i + 1.0) ** 2 for i in range(100)]
    assert torch.stack(tensors).shape == (100, 3)


def test_the_same_tensor_twice_and_overlapping_views():
    a = npu(5)
    before = a.cpu()
    assert torch.equal(a.mul_(a).cpu(), before * before)
    b = torch.arange(6.0, device="npu")
    with pytest.raises(RuntimeError, match="memory"):
        b[1:].add_(b[:-1])                      # partial overlap is noticed, as on the CPU


def test_zero_dimensional_cpu_tensors_are_numbers():
    a = npu(3)
    assert (a + torch.tensor(2.0)).device.type == (torch.tensor(2.0) * a).device.type == "npu"
    assert torch.where(a > 0, a, torch.tensor(0.0)).device.type == "npu"


def test_tensors_of_two_devices_are_refused_by_name():
    a = npu(3)
    with pytest.raises(RuntimeError, match=r"same device.*npu:0 and cpu!.*argument other of aten::add"):
        a + torch.ones(3)
    with pytest.raises(RuntimeError, match="npu:0 and npu:1!"):
        a + torch.ones(3, device="npu:1")
    with pytest.raises(RuntimeError, match="same device"):
        torch.mm(torch.ones(2, 2), npu(2, 2))


def test_results_stay_on_the_device_of_the_arguments():
    a = torch.ones(3, device="npu:4")
    assert (a * 2).device == torch.nonzero(a).device == a.sum().device == torch.device("npu:4")


def test_conjugate_and_negative_bits_survive():
    a = torch.randn(8, dtype=torch.complex64, device="npu")
    b, expected = a.conj(), a.cpu().conj()
    assert b.is_conj() and torch.equal(b.cpu(), expected)
    assert torch.equal((b * 2).cpu(), expected * 2)
    assert torch.equal(b.imag.cpu(), expected.imag) and b.imag.is_neg()
    assert torch.equal(b.resolve_conj().cpu(), expected) and not b.resolve_conj().is_conj()
    b.mul_(2)
    assert torch.equal(a.cpu(), (expected * 2).conj())
    a.conj().copy_(torch.ones(8, dtype=torch.complex64))
    assert torch.equal(torch.view_as_real(a).cpu()[:, 0], torch.ones(8))


@pytest.mark.parametrize("transform", ["fft", "ifft", "rfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "hfft2", "ihfft2", "fftn", "hfftn", "irfftn"])
def test_fourier_transforms_equal_the_cpus(transform):
    """Several conjugate lazily on the way; losing that bit once crashed the process."""
    a = npu(4, 6)
    function = getattr(torch.fft, transform)
    assert torch.equal(function(a).resolve_conj().cpu(), function(a.cpu()))


def assert_close_module(module, *inputs):
    """The module gives the same values and gradients on npu as on the CPU."""
    results = []
    for device in ("cpu", "npu"):
        moved = module.to(device)
        moved.zero_grad()
        arguments = [i.detach().to(device).requires_grad_() for i in inputs]
        output = moved(*arguments)
        leaves = torch.utils._pytree.tree_leaves(output)
        sum((leaf * torch.arange(leaf.numel(), device=device).view_as(leaf)).sum() for leaf in leaves).backward()
        results.append([t.detach().cpu().clone() for t in (*leaves, *(a.grad for a in arguments), *(p.grad for p in moved.parameters()))])
    for on_cpu, on_npu in zip(*results, strict=True):
        torch.testing.assert_close(on_npu, on_cpu, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers_equal_the_cpus_forward_and_backward(kind, bias):
    torch.manual_seed(0)
    assert_close_module(kind(4, 5, num_layers=2, bidirectional=True, bias=bias), torch.randn(6, 3, 4))


@pytest.mark.parametrize("kind", [torch.nn.LSTMCell, torch.nn.GRUCell])
def test_recurrent_cells_equal_the_cpus(kind):
    assert_close_module(kind(4, 5), torch.randn(3, 4))


def test_packed_sequences_keep_their_batch_sizes_on_the_cpu():
    packed = torch.nn.utils.rnn.pack_padded_sequence(npu(5, 3, 4), torch.tensor([5, 3, 2]))
    assert packed.batch_sizes.device.type == "cpu" and packed.is_npu
    output, _ = torch.nn.GRU(4, 6).npu()(packed)
    padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(output)
    assert padded.device.type == "npu" and lengths.tolist() == [5, 3, 2]


@pytest.mark.parametrize("module, shape", [
    (torch.nn.Conv1d(4, 6, 3), (2, 4, 9)), (torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9, 8)),
    (torch.nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)), (torch.nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1), (2, 4, 5, 5)),
    (torch.nn.Conv2d(4, 6, 1, bias=False), (1, 4, 3, 3)),
], ids=["1d", "2d_grouped", "3d", "transposed", "no_bias"])
def test_convolutions_equal_the_cpus_forward_and_backward(module, shape):
    torch.manual_seed(0)
    assert_close_module(module, torch.randn(*shape))


def test_attention_equals_the_cpus():
    torch.manual_seed(0)
    assert_close_module(torch.nn.MultiheadAttention(8, 2, batch_first=True), *[torch.randn(2, 5, 8)] * 3)
    q = npu(2, 3, 7, 4)
    ours = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    c = q.cpu()
    torch.testing.assert_close(ours.cpu(), torch.nn.functional.scaled_dot_product_attention(c, c, c, is_causal=True))


@pytest.mark.parametrize("module", [torch.nn.LayerNorm(8), torch.nn.GroupNorm(2, 4), torch.nn.BatchNorm1d(4), torch.nn.RMSNorm(8)],
                         ids=["layer", "group", "batch", "rms"])
def test_normalisations_equal_the_cpus(module):
    assert_close_module(module, torch.randn(3, 4, 8))


def test_histograms_of_integers_work_as_on_other_devices():
    """The CPU has none; model code counts tokens per expert this way."""
    a = torch.tensor([0, 1, 1, 3, 3, 3], dtype=torch.int32, device="npu")
    counts = torch.histc(a, bins=4, min=0, max=3)
    assert counts.tolist() == [1, 2, 0, 3] and counts.dtype == torch.int32
    assert torch.histc(a.float(), bins=4, min=0, max=3).tolist() == [1, 2, 0, 3]


def test_sizes_that_depend_on_values():
    a = torch.tensor([3, 0, 3, 1], device="npu")
    assert torch.unique(a).tolist() == [0, 1, 3]
    assert torch.nonzero(a).flatten().tolist() == [0, 2, 3]
    assert a[a > 0].tolist() == [3, 3, 1]
    assert torch.bincount(a).tolist() == [1, 1, 0, 2]


def test_sparse_results_are_refused_clearly():
    with pytest.raises(NotImplementedError, match="does not have; move the inputs to the CPU first"):
        npu(3, 3).to_sparse()


def test_custom_operators_use_their_cpu_kernel_or_say_how_to_add_one():
    library = torch.library.Library("npu_fallback_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.define("nowhere(Tensor x) -> Tensor")
    kept = []

    def twice(x):
        assert x.device.type == "cpu"
        kept.append(x * 2)
        return kept[-1]

    library.impl("twice", twice, "CPU")
    a = torch.ones(3, device="npu")
    result = torch.ops.npu_fallback_test.twice(a)
    assert result.device.type == "npu" and result.tolist() == [2, 2, 2]
    kept[0].zero_()                             # the kernel may keep what it returned
    del result
    assert kept[0].tolist() == [0, 0, 0]
    with pytest.raises(NotImplementedError, match='npu_fallback_test::nowhere has no kernel.*torch.library.impl'):
        torch.ops.npu_fallback_test.nowhere(a)
    library.impl("nowhere", lambda x: x + 5, "PrivateUse1")
    assert torch.ops.npu_fallback_test.nowhere(a).tolist() == [6, 6, 6]


def test_calls_are_counted_by_operator():
    _C.reset_fallback_counts()
    a = npu(3)
    torch.erf(a)
    torch.erf(a)
    counts = _C.fallback_counts()
    assert sum(n for name, n in counts.items() if name.startswith("aten::erf")) == 2


def test_an_operator_appears_once_in_a_profile():
    a = npu(8, 8)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.mm(a, a)
    assert {e.key: e.count for e in profile.key_averages()}["aten::mm"] == 1


def test_scaled_and_grouped_products_run():
    a = torch.randn(16, 32).to(torch.float8_e4m3fn).npu()
    one = torch.tensor(1.0, device="npu")
    assert torch._scaled_mm(a, a.t(), one, one, out_dtype=torch.bfloat16).shape == (16, 16)


def test_copies_between_devices_convert_types_and_strides():
    a = torch.arange(12).view(3, 4)
    assert torch.equal(a.npu().t().to(torch.float64).cpu(), a.t().double())
    b = torch.zeros(4, 3, device="npu:1")
    b.copy_(a.npu().t())
    assert torch.equal(b.cpu(), a.t().float())
    c = torch.zeros(4, 3)
    c.copy_(b)
    assert torch.equal(c, a.t().float())
    assert a.npu().to("cpu", torch.bfloat16).dtype == torch.bfloat16
    assert torch.equal(torch.zeros(2, 1, device="npu").copy_(torch.ones(1)).cpu(), torch.ones(2, 1))


def test_losses_do_not_warn_of_a_resize():
    """PyTorch's composite kernel of the two would."""
    x = torch.ones(4, 1, device="npu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.nn.functional.mse_loss(x, x * 3) == 4 and torch.nn.functional.smooth_l1_loss(x, x * 3) == 1.5
