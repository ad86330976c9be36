# SPDX-License-Identifier: MIT
"""Does Ctrl-C end a launch, say where it was, and leave the device usable? And does a program with a handler of its own keep its launch?"""

import textwrap

SETUP = """
import ctypes, os, signal, threading, time
import torch
from ascend_sim import LaunchError, _C, jit

kernels = jit.compile_all('''#include "simt_api/asc_simt.h"
extern "C" __global__ __vector__ void loops(__gm__ volatile int* x) {
    x[1] = 1;
    while (x[0] == 0) {}
}
extern "C" __global__ __vector__ void instructions(__gm__ volatile int* x) {
    auto* ub = reinterpret_cast<__ubuf__ int*>(ascend::isa::ub_base());
    x[1] = 1;
    while (x[0] == 0) {
        asc_copy_gm2ub_align(ub, const_cast<__gm__ int*>(x), 1, 32, 0, 0, false, asc_load_l2_cache_mode{0}, 0, 0);
        asc_sync_pipe(PIPE_ALL);
    }
}
__simt_vf__ void spin(__gm__ volatile int* x) {
    x[1] = 1;
    while (x[0] == 0) {}
}
extern "C" __global__ __vector__ void threads(__gm__ int* x) { asc_vf_call<spin>(cce::dim3(64), x); }

#include <signal.h>
static struct sigaction found;
static void hand_on(int number, siginfo_t* info, void* context) {
    if (found.sa_flags & SA_SIGINFO) found.sa_sigaction(number, info, context);
    else found.sa_handler(number);
}
extern "C" void chain() {
    struct sigaction own{};
    own.sa_sigaction = hand_on;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGINT, &own, &found);
}
''')
signal.signal(signal.SIGINT, signal.default_int_handler)       # not inherited: who runs in the background may ignore it
_C.set_launch_timeout(60)
x = torch.zeros(8, dtype=torch.int32).npu()

has_begun = ctypes.c_int.from_address(x.data_ptr() + 4)

def while_it_runs(*actions):
    def run():
        while not has_begun.value:
            time.sleep(0.01)
        for action in actions:
            time.sleep(0.2)
            action()
    x.zero_()
    threading.Thread(target=run, daemon=True).start()

interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)
release = lambda: ctypes.memmove(x.data_ptr(), b"\\x01", 1)
"""


def test_ctrl_c_ends_a_launch_and_says_where_it_was(run_python):
    run_python(SETUP + textwrap.dedent("""
        for name in ("loops", "instructions", "threads"):
            while_it_runs(interrupt)
            try:
                kernels[name][4](x)
                raise AssertionError(name)
            except KeyboardInterrupt as error:
                cause = error.__cause__
            assert isinstance(cause, LaunchError) and name in str(cause) and "interrupted here (SIGINT)" in str(cause) and ".cpp:" in str(cause), cause
        release()
        kernels["loops"][64](x)
    """))


def test_a_handler_of_its_own_keeps_the_launch(run_python):
    run_python(SETUP + textwrap.dedent("""
        came = []
        signal.signal(signal.SIGINT, lambda *given: came.append(given))
        for name in ("loops", "threads"):
            while_it_runs(interrupt, release)
            kernels[name][4](x)
        assert len(came) == 2
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while_it_runs(interrupt, release)
        kernels["loops"][4](x)
    """))


def test_ctrl_c_ends_a_launch_after_others_have_changed_the_handler(run_python):
    """Z3, which TileLang calls, replaces the handler by signal() and restores what it found; others hand on to what they found."""
    run_python(SETUP + textwrap.dedent("""
        c = ctypes.CDLL(None)
        c.signal.restype, c.signal.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p)

        def restored_by_signal():
            for number in (signal.SIGINT, signal.SIGSEGV, signal.SIGFPE):
                c.signal(number, c.signal(number, None))

        def interrupted():
            while_it_runs(interrupt)
            try:
                kernels["loops"][4](x)
                raise AssertionError
            except KeyboardInterrupt as error:
                assert isinstance(error.__cause__, LaunchError)
        release()
        kernels["loops"][4](x)
        for change in (restored_by_signal, kernels["loops"]._library.chain, lambda: signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))):
            change()
            interrupted()
        try:
            kernels["loops"][1](0x1000)
            raise AssertionError
        except LaunchError as error:
            assert "loops" in str(error)
    """))
