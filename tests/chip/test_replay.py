# SPDX-License-Identifier: MIT
"""Is each mechanism of time what its formula says? One mechanism a test, as an equality in cycles (docs/timing.md)."""

import pytest
from support.chip import (K0, L2, Chip, barrier, cross_set, cross_wait, fix, grid_arrive, grid_wait, load_l0, lock, mmad,
                          replay, set_flag, transfer, unlock, vector, wait_flag)

ISSUE = 8                       # cycles of S per instruction
GM = 1 << 40                    # an address
CLOCK = 1.65e9
HIT, MISS = 100, 19000 / 290    # B/cycle of GM -> L1


# ---- pipes and flags ------------------------------------------------------------------------------------------------

def test_mmad_waits_for_its_flag_and_no_longer():
    load, _, wait, mad = replay([load_l0(4096), set_flag("MTE1", "M"), wait_flag("MTE1", "M"), mmad(16, 16, 16)]).of()
    assert load.end == ISSUE + 3 + 4096 / 256 + 5           # issue on the pipe, bytes / rate, latency
    assert mad.start == wait.end == load.end


def test_mmad_without_the_flag_starts_when_it_is_issued():
    load, mad = replay([load_l0(4096), mmad(16, 16, 16)]).of()
    assert mad.start == 2 * ISSUE < load.end


def test_loads_of_one_path_overlap_their_latency():
    first, second = replay([load_l0(4096), load_l0(4096)]).of()
    assert second.start == first.end - 5
    assert second.end - first.end == 3 + 4096 / 256


def test_a_set_does_not_hold_up_its_pipe():
    with_set = replay([load_l0(4096), set_flag("MTE1", "M"), load_l0(4096)]).of()
    assert with_set[2].start == with_set[0].end - 5


def test_a_pipe_completes_in_order():
    # The scales' latency is longer than that of the load behind them; a flag behind both waits for both.
    scales, load, flag = replay([load_l0(32, "l1_to_l0_mx"), load_l0(256), set_flag("MTE1", "M")]).of()
    assert load.end < scales.end == flag.end


@pytest.mark.parametrize("path, rate", [("l1_to_l0a", 256), ("l1_to_l0b", 256), ("l1_to_l0b_transposed", 128), ("l1_to_l0_mx", 32)])
def test_loads_into_l0_take_bytes_over_rate(path, rate):
    short, long = replay([load_l0(1024, path), load_l0(8192, path)]).of()
    assert long.cycles - short.cycles == (8192 - 1024) / rate


def test_s_stops_when_a_queue_is_full_until_its_head_begins():
    depth = 16
    program = [load_l0(65536)] + [load_l0(256)] * depth + [mmad(16, 16, 16)]
    times = replay(program).of()
    # Load 16 is issued once load 0 has begun, which is at once; load 17 would need load 1 to begin.
    assert times[-1].start == (depth + 2) * ISSUE
    times = replay([*program[:-1], load_l0(256), mmad(16, 16, 16)]).of()
    assert times[-1].start == times[1].start + 2 * ISSUE


def test_wait_of_s_stops_issue():
    load, _, _, mad = replay([load_l0(4096), set_flag("MTE1", "S"), wait_flag("MTE1", "S"), mmad(16, 16, 16)]).of()
    assert mad.start == load.end + ISSUE


def test_barrier_of_a_pipe_waits_for_its_results_only():
    first, _, second = replay([load_l0(4096), barrier("MTE1"), load_l0(4096)]).of()
    assert second.start == first.end


def test_barrier_of_all_pipes_waits_for_all():
    load, mad, _, second = replay([load_l0(4096), mmad(256, 256, 64), barrier(), load_l0(256)]).of()
    assert second.start == max(load.end, mad.end) + ISSUE


def test_a_lock_waits_for_the_unlocks_before_it():
    times = replay([lock("MTE1"), load_l0(4096), unlock("MTE1"), lock("M"), mmad(16, 16, 16)]).of()
    assert times[4].start == times[1].end


def test_locks_of_different_ids_do_not_meet():
    times = replay([lock("MTE1", 0), load_l0(65536), unlock("MTE1", 0), lock("M", 1), mmad(16, 16, 16)]).of()
    assert times[4].start == 5 * ISSUE < times[1].end


# ---- flags used wrongly ---------------------------------------------------------------------------------------------

def test_setting_a_flag_that_was_not_consumed_is_found():
    found = replay([load_l0(256), set_flag("MTE1", "M"), load_l0(256), set_flag("MTE1", "M"), mmad(256, 256, 64),
                    wait_flag("MTE1", "M"), wait_flag("MTE1", "M")]).violations
    assert [(v["kind"], v["record"]) for v in found] == [("flag_set_twice", 3)]
    assert found[0]["at"] < found[0]["other"]


def test_setting_a_flag_after_its_wait_is_fine():
    program = [load_l0(256), set_flag("MTE1", "M"), wait_flag("MTE1", "M"), set_flag("M", "MTE1"), wait_flag("M", "MTE1")] * 2
    assert not replay(program).violations


def test_what_waits_behind_a_full_queue_is_found():
    # The set is the 17th instruction after a wait of its own pipe's consumer: S cannot get there.
    program = [wait_flag("MTE1", "M")] + [mmad(16, 16, 16)] * 16 + [set_flag("MTE1", "M")]
    found = replay(program).violations
    assert [(v["kind"], v["record"]) for v in found] == [("never_continues", 0)]
    assert not replay([*program[:16], program[-1]]).violations


# ---- between cores --------------------------------------------------------------------------------------------------

def test_cross_core_flags_count_and_take_20_cycles():
    result = replay({(0, "aic"): [fix(128, 128), cross_set("FIX", "aiv1", 3), fix(128, 128), cross_set("FIX", "aiv1", 3)],
                     (0, "aiv1"): [cross_wait("V", 3), vector(), cross_wait("V", 3), vector()]})
    drains, vectors = result.of(), result.of(kind="aiv1")
    assert vectors[1].start == drains[0].end + 20
    assert vectors[3].start == drains[2].end + 20


def test_a_grid_barrier_opens_for_all_after_the_last():
    program = {(core, "aic"): [load_l0(4096 * (core + 1)), barrier("MTE1"), grid_arrive("MTE1"), grid_wait("M"), mmad(16, 16, 16)]
               for core in range(3)}
    result = replay(program)
    last = result.of(2)[0].end
    assert [result.of(core)[4].start for core in range(3)] == [last + 380] * 3


def test_the_second_block_of_a_core_starts_when_the_first_has_ended_and_with_its_own_flags():
    block = {(0, "aic"): [set_flag("M", "MTE1"), load_l0(4096)], (0, "aiv0"): [vector(alu=5000)]}
    result = replay([block, block])
    cube, vectors = result.of(), result.of(kind="aiv0")
    assert cube[3].start == vectors[0].end + 2 * ISSUE > cube[1].end
    assert not result.violations        # the flag of block 0 was left set


# ---- launch ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("blocks, us", [(1, 1.455), (32, 1.589), (64, 2.160), (128, 3.373), (1024, 15.996)])
def test_launch_overhead_is_the_measured_table(blocks, us):
    assert Chip().launch_us(blocks) == pytest.approx(us, abs=1e-12)


def test_cores_start_one_after_another_and_an_empty_launch_takes_the_table():
    result = replay({(core, "aic"): [mmad(16, 16, 16)] for core in range(32)}, blocks=32)
    work_us = (ISSUE + 1 + 25) / CLOCK * 1e6
    assert result.us == pytest.approx(1.589 + work_us, abs=1e-9)
    assert result.of(31)[0].start - result.of(0)[0].start == pytest.approx((1.589 - 1.455) * 1e-6 * CLOCK)


def test_blocks_beyond_the_cores_pay_the_table_too():
    assert replay([mmad(16, 16, 16)], blocks=64).launch_us == pytest.approx(1.455 + 2.160 - 1.455)


# ---- cube -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("type_, rate", [("bf16", 4096), ("f16", 4096), ("e4m3", 8192), ("hif8", 8192), ("s8", 8192),
                                         ("e2m1", 16384), ("hf32", 2048), ("f32", 256)])
def test_mmad_takes_macs_over_rate(type_, rate):
    k = 4 * K0[type_]
    first, second = replay([mmad(128, 64, k, type_), mmad(128, 64, k, type_)]).of()
    assert second.start - first.start == max(128 * 64 * k / rate, ISSUE)
    assert first.cycles == 128 * 64 * k / rate + 25


def test_partial_fractals_count_whole():
    full, partial = (replay([mmad(*shape)]).of()[0].cycles for shape in ((64, 32, 48), (49, 17, 33)))
    assert full == partial


def test_mx_is_charged_for_48_rows_at_least():
    thin, enough = (replay([mmad(16, n, 64, "e4m3", mx=True)]).of()[0].cycles - 25 for n in (16, 48))
    assert thin == enough == 48 / 16 * 64 / 32


# ---- unit flags -----------------------------------------------------------------------------------------------------

BLOCKS = 128 * 128 * 4 // 512


def test_fix_follows_the_mmad_block_by_block():
    mad, drain = replay([mmad(128, 128, 512, unit_flag=3), fix(128, 128, unit_flag=3)]).of()
    occupied = mad.cycles - 25
    fix_cycles = 2 + 128 * 128 * 4 / 128
    assert drain.start == mad.start + 25 + occupied / BLOCKS
    assert drain.end - 58 == max(drain.start + fix_cycles, mad.end + fix_cycles / BLOCKS)


def test_without_unit_flags_fix_waits_for_all_of_it():
    mad, _, _, drain = replay([mmad(128, 128, 512), set_flag("M", "FIX"), wait_flag("M", "FIX"), fix(128, 128)]).of()
    assert drain.start == mad.end
    with_flags = replay([mmad(128, 128, 512, unit_flag=3), fix(128, 128, unit_flag=3)]).of()
    assert with_flags[1].end < drain.end


def test_the_next_mmad_follows_the_drain_block_by_block():
    program = [mmad(128, 128, 64, unit_flag=3), fix(128, 128, unit_flag=3), mmad(128, 128, 64, unit_flag=3)]
    mad, drain, again = replay(program).of()
    drained = drain.end - 58
    assert again.start == max(mad.end - 25, drain.start + (drained - drain.start) / BLOCKS)
    assert again.end - 25 == drained + (mad.cycles - 25) / BLOCKS          # FIX is the slower one here


def test_an_mmad_into_the_other_half_of_l0c_does_not_wait():
    mad, _, other = replay([mmad(128, 128, 64, unit_flag=3), fix(128, 128, unit_flag=3),
                            mmad(128, 128, 64, unit_flag=3, l0c=131072)]).of()
    assert other.start == mad.end - 25


# ---- fixpipe --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("bytes_, elements_per_cycle", [(4, 32), (2, 64), (1, 64)])
def test_fix_takes_128_bytes_or_64_elements_a_cycle(bytes_, elements_per_cycle):
    assert replay([fix(64, 64, bytes_=bytes_)]).of()[0].cycles == 2 + 64 * 64 / elements_per_cycle + 58


def test_fix_to_both_vector_cores_is_twice_as_fast_unless_rows_are_short():
    assert replay([fix(64, 128, "l0c_to_ub_dual", dual=1)]).of()[0].cycles == 2 + 64 * 128 * 4 / 256 + 55
    # Halves of 16 columns: 64 bytes a cycle each.
    assert replay([fix(64, 32, "l0c_to_ub_dual", dual=2)]).of()[0].cycles == 2 + 64 * 32 * 4 / 128 + 55


# ---- vector functions -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("slots, cycles", [
    ({}, 0),
    ({"alu": 100}, 50),                                     # dual issue
    ({"alu": 100, "load": 100}, 100),                       # two results a cycle
    ({"load": 100}, 50),                                    # two reads a cycle
    ({"load": 200, "store": 40, "alu": 10}, 120),           # bound by loads: two accesses of UB a cycle
    ({"store": 100}, 100),                                  # one store port
    ({"alu": 100, "load": 100, "store": 120}, 120),         # bound by stores: they take nothing from the others
    ({"alu": 200, "cast": 40, "load": 30, "store": 60}, 135),   # bound by calculations: (200 + 40 + 30) / 2 results
    ({"special": 400}, 400),                                # 16 elements a cycle
    ({"alu": 100, "special": 400}, 400),                    # beside each other
    ({"reduce": 10, "alu": 20}, 20),                        # single issue
    ({"reduce": 100, "load": 90, "store": 20}, 100),        # loads have ports of their own
    ({"reduce": 100, "load": 140}, 120),                    # and results to write
    ({"permute": 50, "load": 20}, 60),                      # two results of an interleave
    ({"alu_int32": 100, "load": 20}, 50),                   # a result per two slots
    ({"gather": 30, "load": 20, "mask": 10}, 40),           # gathers keep both ports of UB
])
def test_a_vector_function_takes_its_busiest_resource(slots, cycles):
    assert replay({(0, "aiv0"): [vector(**slots)]}).of(kind="aiv0")[0].cycles == 23 + 12 + cycles


def test_phases_follow_each_other_and_are_one_instruction():
    program = [vector(alu=100), vector(calls=0, store=60), vector(calls=0, load=80, alu=20), vector(store=10)]
    first, second, third, other = replay({(0, "aiv0"): program}).of(kind="aiv0")
    assert (first.cycles, second.cycles, third.cycles) == (23 + 50, 60, 50 + 12)
    assert (second.start, third.start, other.start) == (first.end, second.end, third.end)
    assert first.start == ISSUE and replay({(0, "aiv0"): [vector(), *program]}).of(kind="aiv0")[1].start == ISSUE + 35


def test_phases_take_one_place_in_the_queue():
    # V waits for the load, with a queue of 16: the wait and 15 functions of three phases. S goes on to the store.
    functions = [vector(alu=2), vector(calls=0, alu=2), vector(calls=0, alu=2)] * 15
    program = [transfer("gm_to_ub", 0, rows=64), set_flag("MTE2", "V"), wait_flag("MTE2", "V"), *functions, transfer("ub_to_gm", 1 << 20)]
    times = replay({(0, "aiv0"): program}).of(kind="aiv0")
    assert times[-1].start == (3 + 15 + 1) * ISSUE < times[0].end


# ---- global memory --------------------------------------------------------------------------------------------------

def test_a_cold_read_is_limited_by_what_is_under_way_and_a_warm_one_by_the_port():
    l2 = L2()
    load = [transfer("gm_to_l1", GM, rows=64, row_bytes=512)]
    cold, warm = (replay(load, l2=l2) for _ in range(2))
    assert cold.of()[0].cycles == pytest.approx(32768 / MISS + 190 + 100)
    assert warm.of()[0].cycles == pytest.approx(32768 / HIT + 190)
    assert (cold.hbm_read_bytes, warm.hbm_read_bytes) == (32768, 0)


def test_reads_of_a_path_overlap_their_latency():
    l2 = L2()
    load = transfer("gm_to_l1", GM, rows=64, row_bytes=512)
    replay([load], l2=l2)
    first, second = replay([load, load], l2=l2).of()
    assert second.end - first.end == pytest.approx(32768 / HIT)


def test_small_loads_into_l1_are_64_cycles_apart():
    l2 = L2()
    load = transfer("gm_to_l1", GM, rows=1, row_bytes=128)
    replay([load], l2=l2)
    first, second = replay([load, load], l2=l2).of()
    assert second.start - first.start == 64


def test_short_rows_move_whole_128_byte_transactions():
    wide = replay([transfer("gm_to_l1", GM, rows=1024, row_bytes=128, row_stride=1024)])
    narrow = replay([transfer("gm_to_l1", GM, rows=1024, row_bytes=32, row_stride=1024)])
    assert narrow.cycles == wide.cycles
    assert narrow.l2_bytes == wide.l2_bytes == 1024 * 128
    assert narrow.gm_read_bytes == 1024 * 32


def test_the_two_vector_cores_share_a_port():
    copies = [transfer("ub_to_gm", GM + i * 2**20, rows=64, row_bytes=512) for i in range(2)]
    alone = replay({(0, "aiv0"): copies[:1]}).of(kind="aiv0")[0].cycles
    both = replay({(0, "aiv0"): copies[:1], (0, "aiv1"): copies[1:]})
    assert alone == pytest.approx(32768 / 115 + 180)
    assert both.of(kind="aiv0")[0].cycles == pytest.approx(2 * 32768 / 115 + 180)


def test_a_vector_core_has_16_requests_under_way():
    copies = [transfer("gm_to_ub", GM + i * 4096, row_bytes=128) for i in range(17)]
    times = replay({(0, "aiv0"): copies}).of(kind="aiv0")
    assert times[15].start == times[0].start + 15 * 13              # 13 cycles apart
    assert times[16].start == max(times[15].start + 13, times[0].end)


def test_all_cores_together_get_the_bandwidth_of_l2():
    l2 = L2()
    program = {(core, "aic"): [transfer("gm_to_l1", GM + core * 2**20, rows=256, row_bytes=4096)] for core in range(32)}
    replay(program, l2=l2)
    warm = replay(program, l2=l2)
    total = 32 * 2**20
    alone_us = 2**20 / HIT / CLOCK * 1e6
    us = (warm.cycles - 190) / CLOCK * 1e6
    assert us > alone_us
    assert us == pytest.approx(total / 5.2e12 * 1e6, rel=0.04)      # cores start up to 0.13 us apart


def test_all_cores_together_get_the_bandwidth_of_hbm():
    program = {(core, f"aiv{v}"): [transfer("gm_to_ub", GM + (2 * core + v) * 2**20, rows=256, row_bytes=4096)]
               for core in range(32) for v in range(2)}
    cold = replay(program)
    us = (cold.cycles - 190) / CLOCK * 1e6
    assert cold.hbm_read_bytes == 64 * 2**20
    assert us == pytest.approx(64 * 2**20 / 3.5e12 * 1e6, rel=0.02)


def test_stores_that_bypass_l2_use_hbm_and_others_do_not_yet():
    def store(hint):
        return replay({(0, "aiv0"): [transfer("ub_to_gm", GM, rows=64, row_bytes=512, hint=hint)]}).hbm_written_bytes
    assert store(4) == 32768
    assert store(0) == 0


def test_cores_that_read_the_same_lines_together_fetch_them_once_and_wait_together():
    load = transfer("gm_to_l1", GM, rows=64, row_bytes=512)
    same_start = {"launch.blocks_32": 1.455}
    alone = replay([load], chip=same_start)
    both = replay({(0, "aic"): [load], (1, "aic"): [load]}, chip=same_start)
    assert both.hbm_read_bytes == 32768
    assert both.of(0)[0].end == both.of(1)[0].end == alone.of()[0].end


def test_a_core_that_comes_after_the_data_does_not_wait():
    load = transfer("gm_to_l1", GM, rows=64, row_bytes=512)
    later = {(0, "aic"): [load], (1, "aic"): [load_l0(2**20), set_flag("MTE1", "MTE2"), wait_flag("MTE1", "MTE2"), load]}
    assert replay(later).of(1)[3].cycles == pytest.approx(32768 / HIT + 190)


def test_fix_to_global_memory_ends_after_the_mmad_it_drains():
    mad, drain = replay([mmad(128, 128, 4096, unit_flag=3),
                         fix(128, 128, "l0c_to_gm", bytes_=2, unit_flag=3, address=GM)]).of()
    fix_cycles = 2 + 128 * 128 / 64
    assert drain.end - 200 == pytest.approx(mad.end + fix_cycles / BLOCKS)


# ---- the clock and the description ----------------------------------------------------------------------------------

PIPE_BOUND = {
    "M": [mmad(256, 256, 64)] * 64,
    "MTE1": [load_l0(32768)] * 64,
    "FIX": [fix(128, 128)] * 64,
    "MTE2, cold": [transfer("gm_to_l1", GM + i * 65536, rows=64, row_bytes=1024) for i in range(64)],
    "MTE2, warm": [transfer("gm_to_l1", GM, rows=64, row_bytes=1024) for i in range(64)],
}


@pytest.mark.parametrize("program", PIPE_BOUND.values(), ids=PIPE_BOUND)
def test_with_the_clock_doubled_a_pipe_bound_time_halves(program):
    slow, fast = (replay(program, chip={"clock.frequency": CLOCK * factor}) for factor in (1, 2))
    assert slow.us - slow.launch_us == pytest.approx(2 * (fast.us - fast.launch_us), rel=1e-12)


def test_with_the_clock_doubled_a_memory_bound_time_stays():
    program = {(core, f"aiv{v}"): [transfer("gm_to_ub", GM + (2 * core + v) * 2**20, rows=256, row_bytes=4096)] * 4
               for core in range(32) for v in range(2)}
    slow, fast = (replay(program, chip={"clock.frequency": CLOCK * factor}) for factor in (1, 2))
    assert fast.us - fast.launch_us == pytest.approx(slow.us - slow.launch_us, rel=0.1)


def test_time_does_not_depend_on_which_instruction_it_was():
    program = [transfer("gm_to_l1", GM, rows=64), load_l0(4096), mmad(64, 64, 64), fix(64, 64)]
    renamed = [type(record).from_buffer_copy(record) for record in program]
    for record in renamed:
        record.op += 50
    assert replay(program).cycles == replay(renamed).cycles


def test_replaying_twice_gives_the_same_times():
    program = {(core, "aic"): [transfer("gm_to_l1", GM + (core % 4 * 64 + i) * 65536, rows=64, row_bytes=1024)
                               for i in range(20)] for core in range(16)}
    first, second = replay(program), replay(program)
    assert [(t.start, t.end) for core in range(16) for t in first.of(core)] == \
           [(t.start, t.end) for core in range(16) for t in second.of(core)]


def test_use_of_pipes_is_summed():
    result = replay([load_l0(4096), set_flag("MTE1", "M"), wait_flag("MTE1", "M"), mmad(64, 64, 64)])
    assert result.busy("MTE1") == 3 + 4096 / 256
    assert result.busy("M") == 64
    assert result.waiting("M") == result.of()[0].end - 3 * ISSUE
    assert result.busy("S") == 4 * ISSUE
    assert result.macs == 64**3
