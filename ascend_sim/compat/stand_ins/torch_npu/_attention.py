# SPDX-License-Identifier: MIT
"""npu_fusion_attention: attention with masks, for clients that call torch_npu's operator. Plain PyTorch on npu tensors, with gradients."""

import math
from numbers import Real

import torch
from ascend_sim import arguments

_DTYPES = (torch.float16, torch.bfloat16, torch.float32)
_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND", "TND")


def npu_fusion_attention(query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None, scale=1.0, keep_prob=1.0,
                         pre_tockens=2147483647, next_tockens=2147483647, inner_precise=0, prefix=None, actual_seq_qlen=None,
                         actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False):
    """softmax(scale * query @ key^T + pse, masked) @ value, summed in fp32, in the layout and dtype of `query`.

    input_layout: BSH, SBH, BNSD, BSND or TND; head_num is N of the query, whose heads may share those of key and value in groups.
    actual_seq_qlen, actual_seq_kvlen: TND only, the end of each sequence. atten_mask: bool or uint8, true where nothing is to be seen.
    sparse_mode: 0 the mask as it is, [.., Sq, Skv]; 1 likewise; 2 causal from the top left, 3 causal from the bottom right (their mask, of
    2048 x 2048, says nothing beyond that); 4 a band of pre_tockens and next_tockens around the diagonal from the bottom right.
    keep_prob: below 1, dropout on the probabilities. inner_precise, gen_mask_parallel and sync have no effect.
    Returns (output, softmax_max, softmax_sum, softmax_out, seed, offset, numels): max and sum fp32 [B, N, S, 8] ([T, N, 8] for TND), each
    repeated eight times; softmax_out empty; the last three 0. Rows that see nothing give 0.
    Raises: ValueError, TypeError or NotImplementedError that names the argument. Time: what its PyTorch operators are charged.
    """
    _check(query, key, value, head_num, input_layout, pse, padding_mask, atten_mask, scale, keep_prob, pre_tockens, next_tockens, prefix, sparse_mode)
    if input_layout == "TND":
        ends = _ends("actual_seq_qlen", actual_seq_qlen, query), _ends("actual_seq_kvlen", actual_seq_kvlen, key)
        if len(ends[0]) != len(ends[1]):
            raise ValueError(f"torch_npu.npu_fusion_attention: actual_seq_qlen has {len(ends[0])} sequences and actual_seq_kvlen {len(ends[1])}; "
                             "expected as many.")
        if pse is not None:
            raise NotImplementedError("torch_npu.npu_fusion_attention: pse with the layout TND is not emulated.")
        parts, q0, k0 = [], 0, 0
        for q1, k1 in zip(*ends):
            sequence = [t.transpose(0, 1).unsqueeze(0) for t in (query[q0:q1], key[k0:k1], value[k0:k1])]
            parts.append(_attend(*sequence, None, atten_mask, scale, keep_prob, pre_tockens, next_tockens, sparse_mode))
            q0, k0 = q1, k1
        output, highest, total = (torch.cat([part[i].squeeze(0).transpose(0, 1) for part in parts]) for i in range(3))
    else:
        heads = [_to_bnsd(t, head_num if t is query else None, input_layout, query.shape[-1] // head_num) for t in (query, key, value)]
        output, highest, total = _attend(*heads, pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens, sparse_mode)
        output = _from_bnsd(output, input_layout)
    return (output.to(query.dtype), highest.expand(*highest.shape[:-1], 8).contiguous(), total.expand(*total.shape[:-1], 8).contiguous(),
            query.new_empty(0), 0, 0, 0)


def _attend(query, key, value, pse, atten_mask, scale, keep_prob, before, after, sparse_mode):
    """All [B, N, S, D]; output, maximum and sum of each row."""
    groups = query.shape[1] // key.shape[1]
    key, value = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    scores = query.float() @ key.float().transpose(-1, -2) * scale
    if pse is not None:
        scores = scores + pse.float()
    hidden = _hidden(scores, atten_mask, before, after, sparse_mode)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    if not scores.shape[-1]:
        highest = scores.new_full((*scores.shape[:-1], 1), -math.inf)
        return query.new_zeros(*query.shape[:-1], value.shape[-1]).float(), highest, torch.zeros_like(highest)
    highest = scores.detach().amax(-1, keepdim=True)
    powers = (scores - highest.clamp_min(torch.finfo(torch.float32).min)).exp()
    total = powers.sum(-1, keepdim=True)
    probabilities = powers / total.clamp_min(torch.finfo(torch.float32).tiny)
    if keep_prob < 1:
        probabilities = torch.nn.functional.dropout(probabilities, 1 - keep_prob)
    return probabilities @ value.float(), highest, total.detach()


def _hidden(scores, atten_mask, before, after, sparse_mode):
    """Where a query must not look; None: nowhere."""
    rows, columns = scores.shape[-2:]
    if sparse_mode in (0, 1):
        if atten_mask is None:
            return None
        if tuple(atten_mask.shape[-2:]) != (rows, columns):
            raise ValueError(f"torch_npu.npu_fusion_attention: atten_mask has shape {list(atten_mask.shape)}; expected [.., {rows}, {columns}] with "
                             f"sparse_mode {sparse_mode}.")
        return atten_mask.bool()
    if atten_mask is None:
        raise ValueError(f"torch_npu.npu_fusion_attention: atten_mask is None; sparse_mode {sparse_mode} expects one.")
    row, column = torch.arange(rows, device=scores.device)[:, None], torch.arange(columns, device=scores.device)[None]
    distance = column - row - (0 if sparse_mode == 2 else columns - rows)
    return (distance > 0) if sparse_mode in (2, 3) else (distance > after) | (-distance > before)


def _to_bnsd(tensor, heads, layout: str, head_size: int):
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    batch_first = tensor if layout == "BSH" else tensor.transpose(0, 1)
    return batch_first.unflatten(-1, (heads or batch_first.shape[-1] // head_size, -1)).transpose(1, 2)


def _from_bnsd(tensor, layout: str):
    if layout == "BNSD":
        return tensor
    bsnd = tensor.transpose(1, 2)
    if layout == "BSND":
        return bsnd.contiguous()
    return bsnd.flatten(2) if layout == "BSH" else bsnd.flatten(2).transpose(0, 1).contiguous()


def _ends(name: str, ends, tensor) -> list[int]:
    if ends is None:
        raise ValueError(f"torch_npu.npu_fusion_attention: {name} is None; the layout TND expects the end of each sequence.")
    arguments.instance("torch_npu.npu_fusion_attention", name, ends, (list, tuple, torch.Tensor), "the end of each sequence, a list of whole numbers")
    ends = [arguments.whole("torch_npu.npu_fusion_attention", name, end, 0) for end in (ends.tolist() if isinstance(ends, torch.Tensor) else ends)]
    if not ends or sorted(ends) != ends or ends[0] < 0 or ends[-1] != tensor.shape[0]:
        raise ValueError(f"torch_npu.npu_fusion_attention: {name} is {ends}; expected rising ends, the last one {tensor.shape[0]}.")
    return ends


def _check(query, key, value, head_num, layout, pse, padding_mask, atten_mask, scale, keep_prob, pre_tockens, next_tockens, prefix, sparse_mode) -> None:
    def fault(text):
        raise ValueError(f"torch_npu.npu_fusion_attention: {text}")
    if not isinstance(layout, str) or layout not in _LAYOUTS:
        fault(f"input_layout is {arguments.shown(layout)}; expected one of {', '.join(_LAYOUTS)}.")
    if padding_mask is not None:
        raise NotImplementedError("torch_npu.npu_fusion_attention: padding_mask is not emulated (nor supported by the real operator).")
    if prefix is not None or type(sparse_mode) is not int or sparse_mode not in (0, 1, 2, 3, 4):
        raise NotImplementedError(f"torch_npu.npu_fusion_attention: sparse_mode {sparse_mode} with prefix {prefix} is not emulated; "
                                  "sparse_mode 0 to 4 without prefix are.")
    if not isinstance(keep_prob, Real) or not 0 < keep_prob <= 1:
        fault(f"keep_prob is {arguments.shown(keep_prob)}; expected more than 0 and at most 1.")
    if not isinstance(scale, Real) or isinstance(scale, bool):
        raise TypeError(f"torch_npu.npu_fusion_attention: scale is {arguments.shown(scale)}; expected a number.")
    for name, reach in (("pre_tockens", pre_tockens), ("next_tockens", next_tockens)):
        arguments.whole("torch_npu.npu_fusion_attention", name, reach)
    for name, tensor in (("query", query), ("key", key), ("value", value), ("pse", pse), ("atten_mask", atten_mask)):
        if tensor is None and name in ("pse", "atten_mask"):
            continue
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"torch_npu.npu_fusion_attention: {name} is {arguments.shown(tensor)}; expected a tensor.")
        if tensor.device.type not in ("npu", "meta"):
            fault(f"{name} is on {tensor.device}; expected an npu tensor.")
    if atten_mask is not None and atten_mask.dtype not in (torch.bool, torch.uint8):
        raise TypeError(f"torch_npu.npu_fusion_attention: atten_mask has dtype {atten_mask.dtype}; expected bool or uint8, true where nothing is to be seen.")
    dims = {"BSH": 3, "SBH": 3, "TND": 3}.get(layout, 4)
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dtype not in _DTYPES or tensor.dtype != query.dtype:
            raise TypeError(f"torch_npu.npu_fusion_attention: {name} has dtype {tensor.dtype}; expected float16, bfloat16 or float32, the same for "
                            f"query, key and value, and query has {query.dtype}.")
        if tensor.device != query.device:
            fault(f"{name} is on {tensor.device}; expected {query.device}, where query is.")
        if tensor.dim() != dims:
            fault(f"{name} has shape {list(tensor.shape)}; expected {dims} dimensions with layout {layout}.")
    axis = {"BNSD": 1, "BSND": 2, "TND": 1}.get(layout)
    heads = query.shape[axis] if axis else head_num
    if not isinstance(head_num, int) or isinstance(head_num, bool) or head_num < 1 or heads != head_num or (axis is None and query.shape[-1] % head_num):
        fault(f"head_num is {arguments.shown(head_num)}; the query has shape {list(query.shape)} in layout {layout}.")
    size = query.shape[-1] if axis else query.shape[-1] // head_num
    kv_heads = key.shape[axis] if axis else key.shape[-1] // size
    if not kv_heads or head_num % kv_heads or (axis is None and key.shape[-1] % size) or (axis and key.shape[-1] != size):
        fault(f"key has shape {list(key.shape)}; expected heads of {size} elements, whose number divides head_num = {head_num}.")
