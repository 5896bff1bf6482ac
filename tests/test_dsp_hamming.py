import numpy as np
import pytest

from dsp import kernels
from dsp.constellation import pam
from dsp.distribution import q_inv
from dsp.hamming import InnerCode, _columns

FORMS = [InnerCode(pairs=True), InnerCode(pairs=False)]
# Message and parity bits of a test vector of the P802.3dj inner encoder (draft 0.1, TP4), from a public transcription.
MESSAGE = (
    "01011000110011001101011010101011011011011010111010111011001101111010101011111011011010010111010110000010110101001011"
    + "0000"
)
CHECK = "01010001"


def _bits(text):
    return np.array([int(c) for c in text], np.uint8)


def test_published_vector():
    # 0 and 1 of every pair are added; the parity matrix row of x^-60 is the first of the published ones.
    code = InnerCode(pairs=True)
    columns, _ = _columns(True)
    assert [f"{c:08b}"[::-1] for c in columns[:4].tolist()] == ["10010100", "01001010", "00100101", "11001011"]
    assert f"{columns[59]:08b}"[::-1] == "10110011"
    assert code.encode(_bits(MESSAGE))[120:].tolist() == _bits(CHECK).tolist()


@pytest.mark.parametrize("pairs", [True, False])
def test_distance_four(pairs):
    # Distinct columns of odd weight: no sum of one, two or three of them is zero.
    columns, place_of = _columns(pairs)
    assert len(set(columns.tolist())) == columns.size == (68 if pairs else 128)
    assert all(c.bit_count() % 2 for c in columns.tolist())
    assert np.array_equal(place_of[columns], np.arange(columns.size))


@pytest.mark.parametrize("code", FORMS)
def test_words_and_linearity(code):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (2, 3, 120), dtype=np.uint8)
    assert np.array_equal(code.encode(a)[..., :120], a)
    assert np.array_equal(code.encode(a) ^ code.encode(b), code.encode(a ^ b))
    assert code.rate == 15 / 16


@pytest.mark.parametrize("code", FORMS)
def test_one_wrong_symbol_by_one_level_is_corrected(code):
    rng = np.random.default_rng(2)
    levels = pam(4)
    bits = rng.integers(0, 2, (60, 120), dtype=np.uint8)
    sent = levels.map_bits(code.encode(bits))
    y = levels.array[sent]
    assert np.array_equal(code.decode(y, 0.05).bits, bits)
    step = np.where(sent == 3, -1, 1)
    for i in range(60):
        y[i, i] += 0.9 * (2 / 3) * step[i, i]  # well beyond the threshold
    decoded = code.decode(y.reshape(3, 20, 64), 0.1)
    assert decoded.bits.shape == (3, 20, 120)
    assert not decoded.failed.any()
    assert np.array_equal(decoded.bits.reshape(60, 120), bits)


@pytest.mark.parametrize("code", FORMS)
def test_published_threshold(code):
    """4.86e-3 becomes 2.46e-4, the limit of KP4. Three million words: 2.49e-4 (pairs), 2.52e-4 (extended)."""
    rng = np.random.default_rng(4)
    levels = pam(4)
    noise = 1 / 3 / float(q_inv(4.86e-3 * 4 / 3))  # BER of Gray PAM4 = 3/4 Q(1 / (3 rms)), two-level errors aside
    bits = rng.integers(0, 2, (20_000, 120), dtype=np.uint8)
    sent = levels.map_bits(code.encode(bits))
    y = levels.array[sent] + noise * rng.standard_normal(sent.shape)
    before = np.mean(levels.bits_of(np.searchsorted(levels.thresholds, y))[..., :120] != bits)
    assert before == pytest.approx(4.86e-3, rel=0.03)
    assert np.mean(code.decode(y, noise).bits != bits) == pytest.approx(2.46e-4, rel=0.2)


def test_more_test_bits_decode_better():
    rng = np.random.default_rng(6)
    levels = pam(4)
    bits = rng.integers(0, 2, (3000, 120), dtype=np.uint8)
    y = levels.array[levels.map_bits(InnerCode().encode(bits))] + 0.14 * rng.standard_normal((3000, 64))
    errors = [np.sum(InnerCode(test_bits=n).decode(y, 0.14).bits != bits) for n in (0, 2, 6)]
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


def test_no_code_word_leaves_the_decisions():
    # Without test patterns two wrong bits are detected, not corrected.
    code = InnerCode(pairs=False, test_bits=0)
    levels = pam(4)
    sent = levels.map_bits(code.encode(np.zeros(120, np.uint8)))
    sent[:2] = 1
    decoded = code.decode(levels.array[sent], 0.1)
    assert decoded.failed
    assert np.array_equal(decoded.bits, levels.bits_of(sent)[:120])


@pytest.mark.parametrize("n_test", [0, 3])
def test_kernel_equals_plain_python(n_test):
    columns, place_of = _columns(True)
    llr = np.random.default_rng(8).standard_normal((6, 68))
    compiled, plain = kernels.chase(llr, columns, place_of, n_test), kernels.chase.py_func(llr, columns, place_of, n_test)
    assert np.array_equal(compiled[0], plain[0])
    assert np.array_equal(compiled[1], plain[1])


@pytest.mark.parametrize(("field", "value"), [("pairs", 1), ("test_bits", -1), ("test_bits", 13), ("test_bits", 1.5)])
def test_bad_code(field, value):
    with pytest.raises(ValueError, match=f"InnerCode.{field}"):
        InnerCode(**{field: value})


def test_bad_arguments():
    code = InnerCode()
    good = np.zeros(64)
    for call, field in [
        (lambda: code.encode(np.zeros(119)), "bits"),
        (lambda: code.encode(np.full(120, 2)), "bits"),
        (lambda: code.decode(good[:63], 0.1), "y"),
        (lambda: code.decode(good + np.nan, 0.1), "y"),
        (lambda: code.decode(good, 0.0), "noise_rms"),
        (lambda: code.decode(good, 0.1, pam(2)), "constellation"),
    ]:
        with pytest.raises(ValueError, match=f"InnerCode.{field}"):
            call()
