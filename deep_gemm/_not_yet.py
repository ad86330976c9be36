# SPDX-License-Identifier: MIT
"""Which names of DeepGEMM are known and not written yet? Asking for one is an AttributeError that says so, hence hasattr() and getattr(.., default) of
clients tell the truth. Sources: the names of DeepGEMM-Ascend 0.1.0, of DeepGEMM 2.6.1, and of its newer versions as far as clients look for them."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# what they are for -> names; of the package itself
FAMILIES = {
    "grouped GEMMs": _names(
        "m_grouped_bf16_gemm_nt_contiguous m_grouped_bf16_gemm_nn_contiguous m_grouped_bf16_gemm_nt_masked bf16_m_grouped_gemm_nt_masked "
        "m_grouped_fp8_gemm_nt_contiguous m_grouped_fp8_gemm_nn_contiguous m_grouped_fp8_gemm_nt_masked fp8_m_grouped_gemm_nt_masked "
        "m_grouped_fp8_fp4_gemm_nt_contiguous m_grouped_fp8_fp4_gemm_nn_contiguous m_grouped_fp8_fp4_gemm_nt_masked "
        "k_grouped_bf16_gemm_tn_contiguous k_grouped_fp8_gemm_nt_contiguous k_grouped_fp8_gemm_tn_contiguous transform_k_grouped_sf_into_required_layout "
        "m_grouped_fp4_gemm_nt_contiguous m_grouped_fp4_gemm_nt_masked k_grouped_fp4_gemm_nt_contiguous legacy"),
    "einsum": _names("einsum fp8_einsum batched_syrk batched_symm"),
    "MQA logits": _names(
        "fp8_mqa_logits fp8_paged_mqa_logits fp8_fp4_mqa_logits fp8_fp4_paged_mqa_logits get_paged_mqa_logits_metadata get_mqa_logits_metadata "
        "fp8_fp4_sparse_mqa_logits fp8_fp4_paged_sparse_mqa_logits get_sparse_mqa_logits_metadata get_paged_sparse_mqa_logits_metadata"),
    "Mega MoE": _names(
        "SymmBuffer NVFP4SymmBuffer get_symm_buffer_for_mega_moe get_block_m_for_mega_moe transform_weights_for_mega_moe fp8_fp4_mega_moe fp8_mega_moe "
        "nvfp4_mega_moe bf16_mega_moe bf16_mega_gate mega_mhc mega"),
    "hyper-connections": _names("tf32_hc_prenorm_gemm tilelang_ops"),
    "GEMMs and switches of newer versions of the CUDA library": _names(
        "fp4_gemm_nt cublaslt_nvfp4_gemm_nt set_compile_mode get_compile_mode set_batch_invariant get_batch_invariant shutdown get_jit"),
}
# of its native module _C
NATIVE = _names("fp8_bmm bf16_bmm npu_sleep SymmBuffer get_symm_buffer_size_for_mega_moe fp8_fp4_mega_moe")
RENAMED = {"get_col_major_tma_aligned_tensor": "get_mn_major_tma_aligned_tensor"}


def message(module: str, name: str) -> str | None:
    """What to say about a name that the module lacks; None if it is no name of DeepGEMM."""
    if module == "deep_gemm._C":
        family = "DeepGEMM-Ascend's native module has it" if name in NATIVE else None
    elif name in RENAMED:
        return f"module {module!r} has no attribute {name!r}: DeepGEMM itself has replaced it by {RENAMED[name]}, which is here."
    else:
        family = next((family for family, names in FAMILIES.items() if name in names), None)
    return None if family is None else (f"{module}.{name} is not written yet in this version of ascend-sim ({family}); hasattr() says so, too. "
                                        "What there is: docs/deep_gemm.md, \"Parity\".")
