# SPDX-License-Identifier: MIT
"""Philox4x32-10 in numpy, from its publication (Salmon, Moraes, Dror, Shaw 2011): an oracle for the generators of TileLang programs."""

import numpy as np

LOW = np.uint64(0xFFFFFFFF)


def words(key, low, high=0):
    """uint32 [.., 4]: the block of the 64-bit key and the 128-bit counter high * 2**64 + low; arrays broadcast."""
    key, low, high = (np.asarray(value, np.uint64) for value in (key, low, high))
    key, low, high = np.broadcast_arrays(key, low, high)
    half = np.uint64(32)
    k = [key & LOW, key >> half]
    c = [low & LOW, low >> half, high & LOW, high >> half]
    with np.errstate(over="ignore"):
        for _ in range(10):
            first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
            c = [second >> half ^ c[1] ^ k[0], second & LOW, first >> half ^ c[3] ^ k[1], first & LOW]
            k = [k[0] + np.uint64(0x9E3779B9) & LOW, k[1] + np.uint64(0xBB67AE85) & LOW]
    return np.stack(c, axis=-1).astype(np.uint32)


def uniform(word):
    """fp32 in (0, 1): the middle of the word's interval, as the generators round it."""
    return word.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
