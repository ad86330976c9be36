# SPDX-License-Identifier: MIT
"""What ends within a tile: right values, and nothing for the memory check to report."""

import math

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.tilelang


@pytest.fixture(scope="module")
def tiles(load_programs):
    torch.manual_seed(0)
    return load_programs("tiles")


def close(got, want, tolerance):
    assert (got.cpu().double() - want).abs().max() <= tolerance * want.abs().max()


def test_mx_gemm_of_a_short_tile(tiles):
    m, n, k = 70, 65, 256
    a, b = (torch.randn(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    scales = [torch.randint(120, 134, (rows, k // 32), dtype=torch.uint8) for rows in (m, n)]
    wide = [x.double() * torch.exp2(s.double() - 127).repeat_interleave(32, 1) for x, s in zip((a, b), scales, strict=True)]
    got = tiles.mx_gemm(m, n, k)(a.npu(), b.npu(), *(s.view(torch.uint16).npu() for s in scales))
    close(got, wide[0] @ wide[1].T, 2**-8)


@pytest.mark.parametrize("program", ["groups_from_l1", "groups_from_l0"])
def test_groups_of_any_number_of_rows(tiles, program):
    sizes, n, k, block = [70, 0, 1, 129], 50, 192, 64
    starts = np.cumsum([0, *sizes[:-1]])
    table = [(start + i, min(block, size - i), g) for g, (start, size) in enumerate(zip(starts, sizes, strict=True)) for i in range(0, size, block)]
    a, b = torch.randn(sum(sizes), k).bfloat16(), torch.randn(len(sizes), n, k).bfloat16()
    want = torch.cat([x.double() @ y.double().T for x, y in zip(a.split(sizes), b, strict=True)])
    kernel = getattr(tiles, program)(len(table), len(sizes), n, k)
    close(kernel(a.npu(), b.npu(), torch.tensor(table, dtype=torch.int32).npu()), want, 1e-5)


def test_a_transposed_16_bit_matrix(tiles):
    x = torch.randn(97, 130).bfloat16()
    assert torch.equal(tiles.transposed(97, 130, "bfloat16")(x.npu()).cpu(), x.T)


def test_threads_behind_the_end_may_divide_by_zero(tiles):
    n = 200
    a, b = torch.randint(-1000, 1000, (n,), dtype=torch.int32), torch.randint(1, 30, (n,), dtype=torch.int32)
    want = torch.div(a, b, rounding_mode="trunc") + torch.fmod(a, b)
    assert torch.equal(tiles.quotients(n)(a.npu(), b.npu()).cpu(), want)


def test_paged_attention_with_a_window(tiles, unwritten):
    batch, heads, group, dim, page, most, window, pages = 3, 2, 6, 64, 32, 5, 70, 20
    lengths = torch.tensor([1, 97, 160], dtype=torch.int32)
    q = torch.randn(batch, heads, group, dim).bfloat16()
    k, v = (torch.randn(pages, heads, page, dim).bfloat16() for _ in range(2))
    table = torch.randperm(pages)[: batch * most].view(batch, most)
    kernel = tiles.paged_attention(batch, heads, group, dim, pages, page, most, window)
    got = kernel(q.npu(), k.npu(), v.npu(), table.int().npu(), lengths.npu(), unwritten(batch, heads, 2, 32, dim), unwritten(batch, heads, 2, 32))
    for b, length in enumerate(lengths.tolist()):
        keys, values = (x[table[b]].transpose(0, 1).reshape(heads, -1, dim)[:, max(length - window, 0):length].double() for x in (k, v))
        scores = q[b].double() @ keys.transpose(1, 2) / math.sqrt(dim)
        close(got[b], torch.softmax(scores, -1) @ values, 2**-7)


def test_attention_over_packed_sequences(tiles, unwritten):
    heads, groups, dim, window, block, lengths = 4, 2, 64, 50, 64, [65, 3, 64, 129, 1]
    ends = np.cumsum(lengths).tolist()
    tokens = ends[-1]
    q, k, v = (torch.randn(tokens, count, dim).bfloat16() for count in (heads, groups, groups))
    sink = torch.randn(heads)
    table = [(end - length, row, end) for end, length in zip(ends, lengths, strict=True) for row in range(end - length, end, block)]
    out = unwritten(tokens + 1, heads, dim, dtype=torch.bfloat16)
    tiles.packed_attention(heads, groups, dim, window)(q.npu(), k.npu(), v.npu(), torch.tensor(table, dtype=torch.int32).npu(), sink.npu(), out[:tokens])
    for end, length in zip(ends, lengths, strict=True):
        own = slice(end - length, end)
        queries, keys, values = (x[own].double().transpose(0, 1) for x in (q, k.repeat_interleave(heads // groups, 1), v.repeat_interleave(heads // groups, 1)))
        back = torch.arange(length)[:, None] - torch.arange(length)
        scores = (queries @ keys.transpose(1, 2) / math.sqrt(dim)).masked_fill((back < 0) | (back >= window), -math.inf)
        scores = torch.cat((scores, sink.double().view(-1, 1, 1).expand(-1, length, 1)), -1)
        close(out[own].transpose(0, 1), torch.softmax(scores, -1)[..., :-1] @ values, 2**-7)
    assert out[tokens].isnan().all()
