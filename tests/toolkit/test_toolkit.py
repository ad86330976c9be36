# SPDX-License-Identifier: MIT
"""Do the stand-ins for the vendor's toolkit do what TileLang asks of them? Programs, containers, launches through libascendcl.so."""

import ctypes
import os
import struct
import subprocess
import sys

import pytest
import torch
from ascend_sim.jit import disk_cache
from ascend_sim.toolkit import bisheng, container, folder, ld_lld, runtime

KERNEL = """
extern "C" __global__ __vector__ void scale(__gm__ float* x, __gm__ float* y, int per_block, float factor) {
  __ubuf__ float *in = (__ubuf__ float *)0;
  asc_copy_gm2ub_align(in, x + block_idx * per_block, 1, per_block * 4, 0, 0, false, asc_load_l2_cache_mode{0}, 0, 0);
  asc_sync_notify(PIPE_MTE2, PIPE_S, 0);
  asc_sync_wait(PIPE_MTE2, PIPE_S, 0);
  for (int i = 0; i < per_block; ++i) in[i] *= factor;
  asc_sync_notify(PIPE_S, PIPE_MTE3, 0);
  asc_sync_wait(PIPE_S, PIPE_MTE3, 0);
  asc_copy_ub2gm_align(y + block_idx * per_block, in, 1, per_block * 4, asc_store_l2_cache_mode{0}, 0, 0);
}
"""
LAUNCHER = KERNEL + """
#define ERROR_BUF_SIZE 1024
static char error_buf[ERROR_BUF_SIZE];
extern "C" const char* get_last_error() {
    return error_buf;
}
extern "C" int init() {
    error_buf[0] = '\\0';
    return 0;
}
extern "C" int call(float* __restrict__ x, float* __restrict__ y, int n, int per_block, float factor, void* stream=nullptr) {
	scale<<<(n / per_block), 0, stream>>>(x, y, per_block, factor);
	TILELANG_CHECK_LAST_ERROR("scale");
	return 0;
}
"""


class Acl:
    """The calls that TileLang's runtime module makes, through ctypes."""

    def __init__(self):
        self.library = runtime.attach()
        self.library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.library.aclrtBinaryLoadFromData.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.library.aclrtBinaryGetFunction.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.library.aclrtLaunchKernelWithHostArgs.argtypes = [
            ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]

    def check(self, code):
        if code:
            raise RuntimeError(self.library.aclGetRecentErrMsg().decode())

    def load(self, data):
        binary = ctypes.c_void_p()
        self.check(self.library.aclrtBinaryLoadFromData(data, len(data), None, ctypes.byref(binary)))
        return binary

    def function(self, binary, name):
        function = ctypes.c_void_p()
        self.check(self.library.aclrtBinaryGetFunction(binary, name.encode(), ctypes.byref(function)))
        return function

    def launch(self, function, blocks, args, stream=0, ub_bytes=0):
        attribute = (ctypes.c_uint32 * 5)(2, ub_bytes)
        config = (ctypes.c_size_t * 2)(ctypes.addressof(attribute), 1)
        self.check(self.library.aclrtLaunchKernelWithHostArgs(function, blocks, stream, ctypes.addressof(config), args, len(args), None, 0))


@pytest.fixture
def acl():
    return Acl()


def compiled(tmp_path, text=KERNEL, *options, name="out"):
    source = tmp_path / "tl_kernel.asc"
    source.write_text(text)
    out = tmp_path / name
    assert bisheng.main([*options, str(source), "-o", str(out)]) == 0
    return out


def arguments(x, y, per_block, factor):
    return struct.pack("<QQif", x.data_ptr(), y.data_ptr(), per_block, factor)


def test_a_kernel_compiled_linked_loaded_and_launched(acl, tmp_path):
    relocatable = compiled(tmp_path, KERNEL, "-O2", "-std=c++20", "-mllvm", "-cce-aicore-dcpreload-args=false", "--npu-arch=dav-3510", "--cce-aicore-only")
    aibin = tmp_path / "kernel.aibin"
    assert ld_lld.main(["-m", "aicorelinux", "-Ttext", "0", "--no-mmap-output-file", str(relocatable), "-o", str(aibin)]) == 0
    function = acl.function(acl.load(aibin.read_bytes()), "scale")
    x = torch.randn(4 * 512).npu()
    y = torch.full_like(x, torch.nan)
    acl.launch(function, 4, arguments(x, y, 512, -3.0), ub_bytes=2048)
    assert torch.equal(y.cpu(), x.cpu() * -3.0)


def test_the_memory_check_holds_a_kernel_to_what_its_launch_allocates(acl, tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CHECK", "memory")
    function = acl.function(acl.load(compiled(tmp_path).read_bytes()), "scale")
    x, y = torch.ones(512).npu(), torch.zeros(512).npu()
    acl.launch(function, 1, arguments(x, y, 512, 2.0), ub_bytes=2048)
    acl.launch(function, 1, arguments(x, y, 512, 2.0))      # without a word
    with pytest.raises(RuntimeError, match=r"destination: UB0 addresses 0x0 to 0x800: the launch allocates 2016 bytes \(in\), which end at 0x7e0 \(32 bytes too far\)"):
        acl.launch(function, 1, arguments(x, y, 512, 2.0), ub_bytes=2016)
    with pytest.raises(RuntimeError, match="scale: 262145 bytes of UB; a vector core has 262144"):
        acl.launch(function, 1, arguments(x, y, 512, 2.0), ub_bytes=262145)


def test_a_launcher_says_what_it_allocates(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CHECK", "memory")
    runtime.attach()
    library = ctypes.CDLL(str(compiled(tmp_path, LAUNCHER.replace("(n / per_block), 0, stream", "(n / per_block), 1024, stream"), "--shared", name="stub.so")))
    library.get_last_error.restype = ctypes.c_char_p
    assert library.init() == 0
    x = torch.ones(512).npu()
    y = torch.zeros_like(x)
    call = [ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_int(512)]
    assert library.call(*call, ctypes.c_int(256), ctypes.c_float(2.0), None) == 0, library.get_last_error()
    assert y.cpu().eq(2).all()
    assert library.call(*call, ctypes.c_int(512), ctypes.c_float(2.0), None) != 0
    assert b"the launch allocates 1024 bytes (in), which end at 0x400 (1024 bytes too far)" in library.get_last_error()


def test_the_stub_of_a_host_library_forwards_its_launcher(tmp_path):
    runtime.attach()
    library = ctypes.CDLL(str(compiled(tmp_path, LAUNCHER, "--shared", name="stub.so")))
    library.get_last_error.restype = ctypes.c_char_p
    x = torch.randn(4 * 512).npu()
    y = torch.full_like(x, torch.nan)

    def call(n):
        return library.call(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), n, 512, ctypes.c_float(2.5), ctypes.c_void_p(0))
    assert call(2048) != 0 and b"init() was not called" in library.get_last_error()
    assert library.init() == 0
    assert call(2048) == 0
    assert torch.equal(y.cpu(), x.cpu() * 2.5)
    assert call(2048 + 512) != 0
    assert b"belongs to no live tensor" in library.get_last_error() or b"past the end" in library.get_last_error()


def test_a_launch_runs_on_the_current_device_and_stream(acl, tmp_path):
    function = acl.function(acl.load(compiled(tmp_path).read_bytes()), "scale")
    with torch.npu.device(1):
        x = torch.randn(512, device="npu:1")
        y = torch.full_like(x, torch.nan)
        side = torch.npu.Stream()
        begin, end, elsewhere = (torch.npu.Event(enable_timing=True) for _ in range(3))
        begin.record(side)
        elsewhere.record()
        acl.launch(function, 1, arguments(x, y, 512, 2.0), stream=side.npu_stream)
        end.record(side)
    assert torch.equal(y.cpu(), x.cpu() * 2)
    assert begin.elapsed_time(end) > 0


def test_the_message_of_a_broken_kernel_arrives_and_the_device_stays_usable(acl, tmp_path):
    function = acl.function(acl.load(compiled(tmp_path).read_bytes()), "scale")
    x = torch.randn(512).npu()
    y = torch.full_like(x, torch.nan)
    with pytest.raises(RuntimeError, match=r"scale on 950\w+: core \d+ aiv0 .*scale.cpp:4"):
        acl.launch(function, 1, struct.pack("<QQif", 64, y.data_ptr(), 512, 2.0))
    acl.launch(function, 1, arguments(x, y, 512, 2.0))
    assert torch.equal(y.cpu(), x.cpu() * 2)


def test_what_a_launch_does_not_accept(acl, tmp_path):
    binary = acl.load(compiled(tmp_path).read_bytes())
    with pytest.raises(RuntimeError, match="no kernel 'absent'; the binary has scale"):
        acl.function(binary, "absent")
    function = acl.function(binary, "scale")
    with pytest.raises(RuntimeError, match="0 blocks; expected 1 to"):
        acl.launch(function, 0, bytes(24))
    with pytest.raises(RuntimeError, match="262145 bytes of UB; a vector core has 262144"):
        acl.launch(function, 1, bytes(24), ub_bytes=262145)


@pytest.mark.parametrize("data, message", [
    (b"\x7fELF...", "a device binary of the vendor's compiler"),
    (b"nothing", "7 bytes beginning"),
])
def test_other_binaries_are_refused_by_name(acl, data, message):
    with pytest.raises(RuntimeError, match=message):
        acl.load(data)


def test_a_container_outlives_the_compiled_kernel(acl, tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "first"))
    data = compiled(tmp_path).read_bytes()
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path / "second"))
    x = torch.randn(512).npu()
    y = torch.full_like(x, torch.nan)
    acl.launch(acl.function(acl.load(data), "scale"), 1, arguments(x, y, 512, 2.0))
    assert torch.equal(y.cpu(), x.cpu() * 2)


def test_the_compiler_says_what_is_wrong_in_the_lines_of_the_text(tmp_path, capsys):
    source = tmp_path / "tl_kernel.asc"
    source.write_text(KERNEL.replace("asc_sync_wait(PIPE_MTE2", "asc_sync_weight(PIPE_MTE2"))
    assert bisheng.main([str(source), "-o", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert "scale.cpp:6:" in message and "asc_sync_weight" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments, message", [
    (["--npu-arch=dav-2201", "kernel.asc", "-o", "out"], "architecture 'dav-2201'; the emulated chip is dav-3510"),
    (["kernel.asc"], "no output; expected one source and -o FILE"),
    (["-o", "out"], "0 source files"),
    (["kernel.asc", "-o"], "-o needs a value"),
])
def test_the_compiler_refuses_by_name(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.asc").write_text(KERNEL)
    assert bisheng.main(arguments) == 1
    assert message in capsys.readouterr().err


def test_definitions_and_include_folders_reach_the_kernel(acl, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "factor.h").write_text("constexpr float kFactor = 4.0f;\n")
    text = '#include "factor.h"\n' + KERNEL.replace("*= factor", "*= kFactor + EXTRA")
    data = compiled(tmp_path, text, "-DEXTRA=0.5f", f"-I{tmp_path / 'mine'}").read_bytes()
    assert container.from_bytes(data).options == ("-DEXTRA=0.5f",)
    x = torch.randn(512).npu()
    y = torch.full_like(x, torch.nan)
    acl.launch(acl.function(acl.load(data), "scale"), 1, arguments(x, y, 512, 2.0))
    assert torch.equal(y.cpu(), x.cpu() * 4.5)


def test_the_folder_has_programs_that_start_without_torch(tmp_path, monkeypatch):
    root = folder.path()
    assert folder.path() == root
    assert (root / "lib64" / "libascendcl.so").resolve() == runtime.LIBRARY.resolve()
    assert (root / "include" / "acl" / "acl.h").is_file()
    source = tmp_path / "tl_kernel.asc"
    source.write_text(KERNEL)
    compiled(tmp_path)                                              # the cache has it now
    (tmp_path / "torch.py").write_text("raise SystemExit('imported torch')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([root / "bin" / "bisheng", source, "-o", tmp_path / "a"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([root / "bin" / "ld.lld", tmp_path / "a", "-o", tmp_path / "b"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes() == (tmp_path / "out").read_bytes()


def test_a_process_without_the_chip_says_so():
    code = f"""if True:
        import ctypes
        library = ctypes.CDLL({str(runtime.LIBRARY)!r})
        library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        binary = ctypes.c_void_p()
        assert library.aclrtBinaryLoadFromData(b"x", 1, None, ctypes.byref(binary)) != 0
        print(library.aclGetRecentErrMsg().decode())"""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert "import ascend_sim.tilelang" in done.stdout


def test_entries_beside_the_kernels_are_not_removed_to_make_room(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_SIM_CACHE_DIR", str(tmp_path))
    root = folder.path()
    monkeypatch.setattr(disk_cache, "LIMIT_BYTES", 0)
    disk_cache.trim()
    assert (root / "bin" / "bisheng").is_file()
