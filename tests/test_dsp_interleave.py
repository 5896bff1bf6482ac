import numpy as np
import pytest

from dsp.fec import KP4, Fec
from dsp.interleave import Interleaving, WordCount, bits_of_symbols, count_words, symbols_of_bits

SMALL = Fec(n=16, k=12, symbol_bits=5, t=2)
LAYOUTS = [
    {},
    {"ways": 2},
    {"ways": 4},
    {"ways": 2, "pcs_lanes": 8, "line_lanes": 4},
    {"ways": 2, "pcs_lanes": 8, "line_lanes": 8},
    {"ways": 4, "pcs_lanes": 16, "line_lanes": 8},
    {"ways": 2, "pcs_lanes": 8, "line_lanes": 4, "mux": "bit"},
    {"ways": 1, "pcs_lanes": 4, "line_lanes": 1, "mux": "bit"},
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip(layout):
    rng = np.random.default_rng(1)
    for code in (SMALL, KP4):
        interleaving = Interleaving(code=code, **layout)
        words = rng.integers(0, 2**code.symbol_bits, (2, 3, interleaving.ways, code.n))
        lines = interleaving.to_lines(words)
        assert lines.shape == (2, 3, interleaving.line_lanes, interleaving.bits_per_line)
        assert np.array_equal(interleaving.from_lines(lines), words)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_maps_name_everything_once(layout):
    interleaving = Interleaving(code=KP4, **layout)
    assert np.array_equal(np.sort(interleaving.pcs_map.ravel()), np.arange(interleaving.ways * 544))
    assert np.array_equal(np.sort(interleaving.line_map.ravel()), np.arange(interleaving.ways * 5440))
    assert interleaving.line_map.shape == (interleaving.line_lanes, interleaving.bits_per_line)


def test_words_take_turns_on_one_line():
    interleaving = Interleaving(code=SMALL, ways=4)
    word, symbol = np.divmod(interleaving.pcs_map[0], SMALL.n)
    assert word[:8].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert symbol[:8].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_checkerboard():
    # 802.3 119.2.4: A B A B in even rows, B A B A in odd ones; every lane carries both words in turn.
    word = Interleaving(code=KP4, ways=2, pcs_lanes=8).pcs_map // KP4.n
    assert word[:, 0].tolist() == [0, 1] * 4
    assert word[:, 1].tolist() == [1, 0] * 4
    assert np.all(np.diff(word, axis=1) != 0)
    # Each word's own symbols come in order.
    symbols = Interleaving(code=KP4, ways=2, pcs_lanes=8).pcs_map.T.ravel()
    assert np.all(np.diff(symbols[symbols < KP4.n]) > 0)


def test_symbol_mux_keeps_symbols_whole_and_bit_mux_takes_turns():
    layout = {"code": KP4, "ways": 2, "pcs_lanes": 8, "line_lanes": 4}
    whole = Interleaving(**layout).line_map // 10
    assert np.all(whole.reshape(4, -1, 10) == whole.reshape(4, -1, 10)[:, :, :1])
    turns = Interleaving(**layout, mux="bit").line_map // 10
    assert np.array_equal(turns[0, 0:20:2], np.full(10, turns[0, 0]))
    assert np.array_equal(turns[0, 1:20:2], np.full(10, turns[0, 1]))
    assert turns[0, 0] != turns[0, 1]


@pytest.mark.parametrize(("ways", "most"), [(1, 8), (2, 4), (4, 2)])
def test_a_burst_is_shared_by_the_words(ways, most):
    interleaving = Interleaving(code=KP4, ways=ways)
    wrong = np.zeros((1, interleaving.bits_per_line), bool)
    wrong[0, 2000:2080] = True  # 80 bits, 8 symbols
    assert interleaving.wrong_symbols(wrong).tolist() == [most] * ways


def test_bits():
    assert bits_of_symbols(np.array([1, 6]), 3).tolist() == [1, 0, 0, 0, 1, 1]
    assert symbols_of_bits(np.array([1, 0, 0, 0, 1, 1]), 3).tolist() == [1, 6]
    words = np.arange(1024, dtype=np.uint16).reshape(2, 512)
    assert np.array_equal(symbols_of_bits(bits_of_symbols(words, 10), 10), words)


def test_counting_words():
    counted = count_words(np.array([[0, 3], [1, 0], [4, 5]]), 2)
    assert counted == WordCount(histogram=(2, 1, 0, 1, 1, 1), words=6, failed=3, groups=3, groups_failed=2)
    low, high = counted.failure_bounds()
    assert low < 0.5 < high


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("code", 3),
        ("ways", 3),
        ("pcs_lanes", 0),
        ("pcs_lanes", 7),
        ("line_lanes", 0),
        ("line_lanes", 3),
        ("mux", "block"),
    ],
)
def test_bad_layout(field, value):
    with pytest.raises(ValueError, match=f"Interleaving.{field}"):
        Interleaving(**{"code": KP4, "ways": 2, "pcs_lanes": 8, "line_lanes": 4} | {field: value})


def test_bad_arguments():
    interleaving = Interleaving(code=KP4)
    for call in (
        lambda: interleaving.to_lines(np.zeros((2, 544), int)),
        lambda: interleaving.from_lines(np.zeros((1, 5439), int)),
        lambda: interleaving.wrong_symbols(np.zeros((2, 5440), bool)),
        lambda: symbols_of_bits(np.zeros(7, int), 3),
        lambda: symbols_of_bits(np.zeros(6, int), 0),
        lambda: bits_of_symbols(np.zeros(7, int), 0),
        lambda: count_words(np.zeros(3, int), 2),
        lambda: count_words(np.zeros((3, 1)), 2),
        lambda: count_words(np.zeros((3, 1), int), -1),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
