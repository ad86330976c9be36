# SPDX-License-Identifier: MIT
"""Which reads find their data in L2? Capacity, order of leaving, sectors, hints, write-back; against a plain model."""

import random
from collections import OrderedDict

import pytest
from support.chip import L2

LINE, SECTOR = 512, 128
BASE = 3 << 40


def test_a_line_stays_until_the_capacity_has_come_in_after_it():
    l2 = L2(16 * LINE)
    l2.read(BASE)
    l2.read(BASE + LINE, rows=15)
    assert l2.holds(BASE)
    l2.read(BASE + 16 * LINE)
    assert not l2.holds(BASE) and l2.holds(BASE + LINE)


def test_a_touch_keeps_a_line_and_counts_against_the_others():
    l2 = L2(16 * LINE)
    for line in range(16):
        l2.read(BASE + line * LINE)
    l2.read(BASE)
    for line in (16, 17):
        l2.read(BASE + line * LINE)
    assert l2.holds(BASE) and not l2.holds(BASE + LINE)


def test_only_the_sectors_asked_for_are_fetched():
    l2 = L2()
    assert l2.read(BASE, row_bytes=256)["missing"] == 2
    assert l2.read(BASE, row_bytes=512) == {"sectors": 4, "missing": 2, "writeback": 0, "fill": 2, "pending": 0}
    assert l2.read(BASE, row_bytes=512)["missing"] == 0


@pytest.mark.parametrize("offset, row_bytes, sectors", [(0, 1, 1), (127, 1, 1), (127, 2, 2), (64, 128, 2), (0, 128, 1), (0, 129, 2), (480, 64, 2)])
def test_rows_move_in_whole_sectors(offset, row_bytes, sectors):
    access = L2().read(BASE + offset, row_bytes=row_bytes)
    assert access["sectors"] == access["missing"] == sectors


def test_rows_of_matrices_count_each():
    assert L2().read(BASE, rows=4, row_bytes=256, row_stride=4096, outer=3, outer_stride=65536)["sectors"] == 24


@pytest.mark.parametrize("hint, stays", [(0, True), (1, True), (2, True), (4, False), (5, False), (6, False)])
def test_loads_with_a_no_allocate_hint_leave_nothing(hint, stays):
    l2 = L2()
    assert l2.read(BASE, hint=hint)["missing"] == 4
    assert l2.holds(BASE) is stays


def test_a_no_allocate_load_finds_what_is_there():
    l2 = L2()
    l2.read(BASE)
    assert l2.read(BASE, hint=4)["missing"] == 0


@pytest.mark.parametrize("hint, sent_to_hbm, stays", [(0, 0, True), (4, 4, False), (7, 4, False), (8, 0, True), (12, 4, True)])
def test_stores_go_where_their_hint_says(hint, sent_to_hbm, stays):
    l2 = L2()
    assert l2.access(BASE, write=True, hint=hint)["missing"] == sent_to_hbm
    assert l2.holds(BASE) is stays


def test_a_dirty_line_is_written_back_when_it_is_pushed_out_and_once():
    l2 = L2(16 * LINE)
    l2.access(BASE, row_bytes=256, write=True)
    l2.access(BASE, row_bytes=256, write=True)
    assert l2.dirty_bytes == 256
    assert l2.read(BASE + LINE, rows=15)["writeback"] == 0
    assert l2.read(BASE + 16 * LINE)["writeback"] == 2
    assert l2.dirty_bytes == 0


def test_flush_empties_it():
    l2 = L2()
    l2.read(BASE, rows=8)
    l2.access(BASE + 2**20, write=True)
    l2.flush()
    assert not l2.holds(BASE) and l2.dirty_bytes == 0
    assert l2.read(BASE, rows=8)["missing"] == 32


def test_lines_under_way_belong_to_the_access_that_fetches_them():
    l2 = L2()
    first = l2.access(BASE, rows=8)
    second = l2.access(BASE, rows=8)
    assert (first["missing"], second["missing"], second["pending"]) == (32, 0, 1)
    l2.end_fill(first["fill"])
    assert l2.access(BASE, rows=8)["pending"] == 0


def test_lines_under_way_are_seen_by_other_footprints_too():
    l2 = L2()
    l2.access(BASE, rows=8)
    l2.access(BASE + 2**20, rows=8)
    assert l2.access(BASE + 4 * LINE, rows=2)["pending"] == 1
    assert l2.access(BASE + 7 * LINE, rows=2, row_stride=2**20 - 7 * LINE)["pending"] == 2


def test_regions_of_a_gigabyte_join():
    l2 = L2()
    edge = (BASE >> 30 << 30) + (1 << 30)
    assert l2.read(edge - 2 * LINE, rows=4)["missing"] == 16
    assert l2.read(edge, row_bytes=1024)["missing"] == 0


class PlainL2:
    """Fully associative, least recently used."""

    def __init__(self, lines: int):
        self.lines, self.state = lines, OrderedDict()

    def read(self, address: int, rows: int, row_bytes: int) -> int:
        missing = 0
        for sector in range(address // SECTOR, (address + rows * row_bytes - 1) // SECTOR + 1):
            sectors = self.state.setdefault(sector // 4, set())
            self.state.move_to_end(sector // 4)
            missing += sector not in sectors
            sectors.add(sector)
            if len(self.state) > self.lines:
                self.state.popitem(last=False)
        return missing


def tiles_by_popularity(chance):        # a few read often, most rarely
    return lambda: min(int(chance.expovariate(1 / 30)), 200)


def tiles_of_a_gemm(chance):            # a hot panel of 16 tiles beside a stream of 100
    return iter(tile for step in range(10**6) for tile in (step % 16, 16 + step % 100)).__next__


def tiles_at_random(chance):
    return lambda: chance.randrange(100)


@pytest.mark.parametrize("tiles", [tiles_by_popularity, tiles_of_a_gemm, tiles_at_random])
def test_misses_are_those_of_a_least_recently_used_cache_within_a_tenth(tiles):
    lines = 4096
    l2, plain = L2(lines * LINE), PlainL2(lines)
    ours = theirs = 0
    next_tile = tiles(random.Random(0))
    for _ in range(3000):
        address = BASE + 64 * LINE * next_tile()
        ours += l2.read(address, 64, 512)["missing"]
        theirs += plain.read(address, 64, 512)
    assert ours == pytest.approx(theirs, rel=0.1)
