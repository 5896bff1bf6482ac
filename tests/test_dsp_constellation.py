import numpy as np
import pytest

from dsp.constellation import Constellation, decode_precoded, named, pam, precode, qam

GRAY_BITS = [0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0]
GRAY_SYMBOLS = [0, 1, 2, 3, 3, 1, 2, 0, 1, 3, 2, 0]
PRECODED = [0, 1, 1, 2, 1, 0, 2, 2, 3, 0, 2, 2]


def test_gray_and_precoder_vector():
    pam4 = pam(4)
    symbols = pam4.map_bits(np.array(GRAY_BITS))
    assert symbols.tolist() == GRAY_SYMBOLS
    assert pam4.bits_of(symbols).tolist() == GRAY_BITS
    assert pam4.array[symbols][:4] == pytest.approx([-1, -1 / 3, 1 / 3, 1])
    sent = precode(symbols, 4)
    assert sent.tolist() == PRECODED
    assert decode_precoded(sent, 4).tolist() == GRAY_SYMBOLS


@pytest.mark.parametrize("n_levels", [2, 3, 4, 6, 8])
def test_precoding_is_undone_and_continues_over_blocks(n_levels):
    symbols = np.random.default_rng(1).integers(n_levels, size=(3, 101))
    sent = precode(symbols, n_levels)
    assert np.array_equal(decode_precoded(sent, n_levels), symbols)
    rest = precode(symbols[0, 40:], n_levels, previous=int(sent[0, 39]))
    assert np.array_equal(rest, sent[0, 40:])
    assert np.array_equal(decode_precoded(rest, n_levels, previous=int(sent[0, 39])), symbols[0, 40:])


def test_precoding_turns_a_burst_of_alternating_errors_into_two():
    symbols = np.random.default_rng(2).integers(4, size=50)
    received = precode(symbols, 4)
    received[10:20] = (received[10:20] + np.array([1, -1] * 5)) % 4
    assert np.flatnonzero(decode_precoded(received, 4) != symbols).tolist() == [10, 20]


@pytest.mark.parametrize(
    ("name", "n", "mean_square"), [("NRZ", 2, 1), ("PAM4", 4, 5 / 9), ("QPSK", 4, 2), ("16QAM", 16, 10 / 9)]
)
def test_named_energy(name, n, mean_square):
    c = named(name)
    assert c.n == n
    assert c.mean_square == pytest.approx(mean_square)
    assert 2**c.bits_per_symbol == pytest.approx(n)


@pytest.mark.parametrize("n", [2, 4, 6, 8, 16])
def test_neighbouring_levels_differ_in_one_bit(n):
    distance = pam(n).bit_distance
    assert np.all(np.diag(distance, 1) == 1)
    assert np.array_equal(distance, distance.T)
    assert np.all(np.diag(distance) == 0)


def test_neighbours_of_a_qam_point_differ_in_one_bit():
    c = qam(16)
    apart = np.abs(c.array[:, None] - c.array[None, :])
    assert np.all(c.bit_distance[np.isclose(apart, 2 / 3)] == 1)


def test_pam6_has_an_odd_number_of_bits_and_maps_none():
    c = named("PAM6")
    assert c.bits_per_symbol == pytest.approx(2.584962500721156)
    assert c.label_bits == 3
    with pytest.raises(ValueError, match="power of two"):
        c.map_bits(np.zeros(6, int))
    with pytest.raises(ValueError, match="power of two"):
        c.bits_of(np.zeros(6, int))


def test_bits_round_trip_over_leading_axes():
    bits = np.random.default_rng(3).integers(2, size=(2, 5, 24))
    for c in (named("NRZ"), named("PAM8"), named("16QAM")):
        assert np.array_equal(c.bits_of(c.map_bits(bits)), bits)
    with pytest.raises(ValueError, match="multiple of 3"):
        named("PAM8").map_bits(np.zeros(4, int))


def test_level_mismatch_is_smallest_spacing_over_even_spacing():
    for n in (4, 6, 8):
        levels = pam(n, 0.92).array
        assert (levels[0], levels[-1]) == (-1, 1)
        assert np.diff(levels).min() * (n - 1) / 2 == pytest.approx(0.92)
    assert pam(4, 0.95).points[2] == pytest.approx(0.95 / 3)


def test_thresholds_are_half_way():
    assert pam(4).thresholds == pytest.approx([-2 / 3, 0, 2 / 3])
    with pytest.raises(ValueError, match="real"):
        _ = qam(4).thresholds


def test_equal_and_hashable_by_value():
    assert pam(4) == named("PAM4")
    assert hash(pam(4)) == hash(pam(4))
    assert pam(4) != pam(4, 0.9)


@pytest.mark.parametrize(
    ("points", "labels", "match"),
    [
        ((1.0,), (0,), "points"),
        ([-1.0, 1.0], (0, 1), "points"),
        ((-1.0, float("nan")), (0, 1), r"points\[1\]"),
        ((-1.0, "x"), (0, 1), r"points\[1\]"),
        ((1.0, 1.0), (0, 1), "distinct"),
        ((1.0, -1.0), (0, 1), "rising"),
        ((-1.0, 1.0), [0, 1], "labels"),
        ((-1.0, 1.0), (0, 1, 2), "labels"),
        ((-1.0, 1.0), (0, 2), r"labels\[1\]"),
        ((-1.0, 1.0), (1, 1), "distinct"),
    ],
)
def test_bad_constellations(points, labels, match):
    with pytest.raises(ValueError, match=match):
        Constellation(points=points, labels=labels)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pam(1),
        lambda: pam(4, 0),
        lambda: pam(4, 1.1),
        lambda: pam(2, 0.9),
        lambda: qam(8),
        lambda: qam(36),
        lambda: named("PAM5"),
        lambda: precode(np.zeros(3, int), 1),
        lambda: precode(np.zeros(3, int), 4, previous=4),
        lambda: decode_precoded(np.zeros(3, int), 1),
        lambda: decode_precoded(np.zeros(3, int), 4, previous=-1),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError, match="must be"):
        call()
