import hashlib

import numpy as np
import pytest

from dsp import kernels
from dsp.constellation import pam
from dsp.sequences import TAPS, prbs, prbs13q, prbs31q_block, prbs_block, random_symbols, ssprq

PRBS13Q_HASH = "66efc4b468334c35f95d762ea66f5c2a0e273f4ab30cdd170d2e9f1b94d35531"
SSPRQ_HASH = "f17f5effb8e68863e5355258186456e1c3b3c48b5519c1a0c46dac855fae3582"


@pytest.mark.parametrize("order", [7, 9, 11, 13, 15, 23])
def test_maximal_length(order):
    period = 2**order - 1
    bits, state = prbs_block(order, period, 5)
    assert state == 5
    assert bits.sum() == 2 ** (order - 1)
    # No shorter period: 2^order - 1 is prime or its largest proper divisors leave the register elsewhere.
    for divisor in (3, 7, 23, 31, 47, 73, 89, 127, 151):
        if period % divisor == 0 and period != divisor:
            assert prbs_block(order, period // divisor, 5)[1] != 5


def test_shift_and_add():
    bits = prbs(9)
    total = bits ^ np.roll(bits, 17)
    assert any(np.array_equal(total, np.roll(bits, k)) for k in range(511))


@pytest.mark.parametrize("order", sorted(TAPS))
def test_stream_does_not_depend_on_blocks(order):
    whole, end = prbs_block(order, 1000, 1)
    parts, state = [], 1
    for n in (1, 0, 499, 500):
        bits, state = prbs_block(order, n, state)
        parts.append(bits)
    assert np.array_equal(np.concatenate(parts), whole)
    assert state == end


def test_prbs31_follows_its_polynomial():
    bits = prbs(31, 5000)
    assert np.array_equal(bits[31:], bits[:-31] ^ bits[3:-28])
    assert np.array_equal(prbs(31, 5000, invert=True), 1 - bits)


def test_kernel_equals_plain_python():
    taps = np.array(TAPS[13])
    compiled, plain = kernels.lfsr(300, 77, taps, 13), kernels.lfsr.py_func(300, 77, taps, 13)
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1] == plain[1]


def test_prbs13q_is_the_standards_pattern():
    symbols = prbs13q()
    assert "".join(map(str, symbols[:24])) == "103132022011113010312123"
    assert np.bincount(symbols).tolist() == [2047, 2048, 2048, 2048]
    assert np.bincount(pam(4).map_bits(1 - pam(4).bits_of(symbols))).tolist() == [2048, 2048, 2047, 2048]
    for seed in (int("0000010101011"[::-1], 2), 1):
        data = bytes(prbs13q(seed).astype(np.uint8))
        twice = data + data
        least = min(range(len(data)), key=lambda i: twice[i : i + 32])
        assert hashlib.sha256(twice[least : least + len(data)]).hexdigest() == PRBS13Q_HASH


def test_ssprq_is_the_standards_pattern():
    symbols = ssprq()
    assert symbols.size == 65535
    assert "".join(map(str, symbols[:32])) == "22222222222221322222222222212212"
    assert np.bincount(symbols).tolist() == [15215, 17553, 17552, 15215]
    assert hashlib.sha256(bytes(symbols.astype(np.uint8))).hexdigest() == SSPRQ_HASH


def test_prbs31q_is_gray_coded_pairs_of_the_inverted_sequence():
    first, state = prbs31q_block(100)
    second, _ = prbs31q_block(50, state)
    bits = 1 - prbs(31, 300, seed=2**31 - 1)
    assert np.array_equal(np.concatenate([first, second]), pam(4).map_bits(bits))


def test_random_symbols_come_from_the_generator_alone():
    a = random_symbols(1000, 4, np.random.default_rng(7))
    assert np.array_equal(a, random_symbols(1000, 4, np.random.default_rng(7)))
    assert set(a) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "call",
    [
        lambda: prbs(8),
        lambda: prbs(7, -1),
        lambda: prbs(7, 10, seed=0),
        lambda: prbs(7, 10, seed=128),
        lambda: prbs_block(10, 1, 1),
        lambda: prbs31q_block(-1),
        lambda: prbs31q_block(4, 0),
        lambda: prbs13q(0),
        lambda: random_symbols(-1, 4, np.random.default_rng(0)),
        lambda: random_symbols(4, 1, np.random.default_rng(0)),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError, match="must be"):
        call()
