import json

import numpy as np
import pytest

from dsp import kernels
from dsp.fec import KP4, KR4, Fec
from dsp.reed_solomon import ReedSolomon, _field, _table

SMALL = ReedSolomon(code=Fec(n=15, k=11, symbol_bits=4, t=2), polynomial=0b10011)
PARITY = [415, 473, 841, 811, 672, 733, 674, 901, 750, 606, 339, 428, 506, 915, 1000]
PARITY += [833, 261, 888, 703, 242, 805, 853, 529, 733, 363, 593, 800, 966, 1000, 832]
GENERATOR = [1, 575, 552, 187, 230, 552, 1, 108, 565, 282, 249, 593, 132, 94, 720, 495]
GENERATOR += [385, 942, 503, 883, 361, 788, 610, 193, 392, 127, 185, 158, 128, 834, 523]


def _hit(words, errors, rng, size):
    """Words with exactly ``errors`` wrong symbols each."""
    out = words.copy()
    for word in out:
        places = rng.choice(word.size, errors, replace=False)
        word[places] ^= rng.integers(1, size, errors).astype(np.uint16)
    return out


def test_kp4_published_vector():
    # Data symbol i is (7 i + 3) mod 1024; generator and parity from three public implementations and own long division.
    code = ReedSolomon(code=KP4)
    data = (7 * np.arange(514) + 3) % 1024
    word = code.encode(data)
    assert code.generator.tolist() == GENERATOR
    assert word[:514].tolist() == data.tolist()
    assert word[514:].tolist() == PARITY


def test_kp4_reference_case(cases_dir):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == "D32")
    code = ReedSolomon(code=KP4)
    assert code.generator.tolist() == case["expect"]["generator_poly_high_to_low"]
    assert code.encode((7 * np.arange(514) + 3) % 1024)[514:].tolist() == case["expect"]["parity_symbols"]


@pytest.mark.parametrize("fec", [KP4, KR4])
@pytest.mark.parametrize("weakened", [False, True])
def test_corrects_up_to_t_and_reports_more(fec, weakened):
    rng = np.random.default_rng(3)
    fec = Fec(n=fec.n, k=fec.k, symbol_bits=10, t=fec.t - 3) if weakened else fec
    code = ReedSolomon(code=fec)
    words = code.encode(rng.integers(0, 1024, (3, 10, fec.k)))
    for errors in (0, 1, 2, fec.t):
        decoded = code.decode(_hit(words.reshape(-1, fec.n), errors, rng, 1024).reshape(words.shape))
        assert np.array_equal(decoded.words, words)
        assert np.all(decoded.corrected == errors)
        assert decoded.failed.shape == (3, 10)
        assert not decoded.failed.any()
        assert not decoded.wrong(words).any()
    for errors in (fec.t + 1, fec.n):
        received = _hit(words.reshape(-1, fec.n), errors, rng, 1024).reshape(words.shape)
        decoded = code.decode(received)
        assert decoded.failed.all()
        assert np.array_equal(decoded.words, received)  # a failed word is left as it came
        assert not decoded.miscorrected(words).any()


def test_every_pattern_of_a_small_code():
    # Every single error and every second pair, exhaustively: the code is of distance 5.
    word = SMALL.encode(np.arange(11))
    singles = [(p, e) for p in range(15) for e in range(1, 16)]
    received = np.tile(word, (len(singles), len(singles), 1))
    for i, (p, e) in enumerate(singles):
        received[i, :, p] ^= e
        received[:, i, p] ^= e
    decoded = SMALL.decode(received)
    assert not decoded.failed.any()
    assert np.all(decoded.words == word)


def test_miscorrection_is_reported_and_as_rare_as_theory():
    # Share of random words inside a decoding sphere of radius t: sum_i C(n, i) (q - 1)^i / q^(n - k).
    rng = np.random.default_rng(5)
    received = rng.integers(0, 16, (40_000, 15))
    decoded = SMALL.decode(received)
    share = (1 + 15 * 15 + 105 * 15**2) / 16**4
    assert np.mean(~decoded.failed) == pytest.approx(share, rel=0.02)
    good = SMALL.decode(decoded.words[~decoded.failed])
    assert np.all(good.corrected == 0)  # what is called corrected is a code word
    sent = SMALL.encode(np.zeros((40_000, 11), int))
    assert np.array_equal(decoded.miscorrected(sent), ~decoded.failed & (decoded.words != 0).any(axis=1))
    assert decoded.wrong(sent).sum() == decoded.failed.sum() + decoded.miscorrected(sent).sum()


def test_against_galois():
    # Its class knows the code only as the shortened (1023, 1023 - 30) one. Plain Python: its compiler takes 20 s.
    galois = pytest.importorskip("galois")
    rng = np.random.default_rng(7)
    for fec in (KP4, KR4):
        parity = fec.n - fec.k
        field = galois.GF(2**10, irreducible_poly="x^10 + x^3 + 1", compile="python-calculate")
        other = galois.ReedSolomon(1023, 1023 - parity, field=field, c=0)
        code = ReedSolomon(code=fec)
        data = rng.integers(0, 1024, (4, fec.k))
        words = code.encode(data)
        assert np.array_equal(np.asarray(other.encode(field(data))), words)
        received = np.concatenate([_hit(words[i : i + 1], n, rng, 1024) for i, n in enumerate((0, 1, fec.t, fec.t + 1))])
        decoded, corrected = other.decode(field(received), errors=True)
        ours = code.decode(received)
        assert np.array_equal(np.asarray(corrected), np.where(ours.failed, -1, ours.corrected))
        assert np.array_equal(np.asarray(decoded), ours.words[:, : fec.k])


def test_kernels_equal_plain_python():
    rng = np.random.default_rng(9)
    exp, log = _field(4, 0b10011)
    table = _table(4, 0b10011, 4)
    words = SMALL.encode(rng.integers(0, 16, (5, 11)))
    received = np.concatenate([_hit(words, n, rng, 16) for n in range(4)])
    remainders = kernels.reed_solomon_remainders(received, table)
    assert np.array_equal(remainders, kernels.reed_solomon_remainders.py_func(received, table))
    compiled, plain = received.copy(), received.copy()
    found = kernels.reed_solomon_correct(compiled, remainders, exp, log, 2)
    assert np.array_equal(found, kernels.reed_solomon_correct.py_func(plain, remainders, exp, log, 2))
    assert np.array_equal(compiled, plain)
    for syndromes in rng.integers(0, 16, (5, 4)):
        a, b = np.empty(5, np.int64), np.empty(5, np.int64)
        length = kernels.reed_solomon_locator(syndromes, exp, log, a)
        assert length == kernels.reed_solomon_locator.py_func(syndromes, exp, log, b)
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("code", "KP4"),
        ("code", Fec(n=8191, k=8000, symbol_bits=13, t=10)),
        ("polynomial", 0b10011),
        ("polynomial", 0b10000000001),
        ("polynomial", 1.5),
    ],
)
def test_bad_code(field, value):
    with pytest.raises(ValueError, match=f"ReedSolomon.{field}"):
        ReedSolomon(**{"code": KP4} | {field: value})


def test_bad_symbols():
    code = ReedSolomon(code=KP4)
    for wrong in (np.zeros(513, int), np.zeros(514), np.full(514, 1024), np.full(514, -1), np.int64(3)):
        with pytest.raises(ValueError, match=r"ReedSolomon.data"):
            code.encode(wrong)
    for wrong in (np.zeros(543, int), np.zeros(544), np.full(544, 1024)):
        with pytest.raises(ValueError, match=r"ReedSolomon.received"):
            code.decode(wrong)
