import numpy as np
import pytest

from dsp.checker import ErrorChecker, Position
from dsp.constellation import pam, precode
from dsp.patterns import PATTERNS
from dsp.sequences import prbs, prbs13q, prbs31q_block, prbs_block, ssprq


def _stream(name, n, rng):
    """``n`` symbols of a pattern from anywhere in it."""
    if name == "PRBS31Q":
        return prbs31q_block(n, int(rng.integers(1, 2**31)))[0]
    if name in ("PRBS23", "PRBS31"):
        return prbs_block(int(name[4:]), n, int(rng.integers(1, 2 ** int(name[4:]))))[0].astype(int)
    period = {"SSPRQ": ssprq, "PRBS13Q": prbs13q}.get(name, lambda: prbs(int(name[4:])))().astype(int)
    return period[(rng.integers(period.size) + np.arange(n)) % period.size]


def _disturb(symbols, ratio, n_levels, rng):
    wrong = rng.random(symbols.size) < ratio
    return np.where(wrong, (symbols + rng.integers(1, n_levels, symbols.size)) % n_levels, symbols), wrong


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("inverted", [False, True])
def test_every_pattern_is_found_and_errors_counted(name, inverted):
    rng = np.random.default_rng(1)
    checker = ErrorChecker(pattern=name)
    sent = _stream(name, 40_000, rng)
    received, wrong = _disturb(sent, 0.01, checker.n_levels, rng)
    arrived = checker.n_levels - 1 - received if inverted else received
    found = checker.check(arrived)
    assert found.aligned
    assert found.reason == ""
    assert found.inverted is inverted
    assert (found.start, found.compared, found.realignments) == (0, 40_000, 0)
    assert found.symbol_errors == wrong.sum()
    assert np.array_equal(found.difference, received - sent)
    levels = pam(checker.n_levels)
    assert found.bits == 40_000 * levels.label_bits
    assert found.bit_errors == np.sum(levels.bits_of(received) != levels.bits_of(sent))


@pytest.mark.parametrize("name", ["PRBS7", "PRBS31", "PRBS13Q", "PRBS31Q", "SSPRQ"])
@pytest.mark.parametrize("inverted", [False, True])
def test_precoded_streams_pass(name, inverted):
    rng = np.random.default_rng(2)
    checker = ErrorChecker(pattern=name, precoded=True)
    n = checker.n_levels
    sent = precode(_stream(name, 70_000, rng), n, previous=1)
    received = sent.copy()
    hit = np.arange(100, 70_000, 100)
    received[hit] = (received[hit] + 1) % n
    found = checker.check(n - 1 - received if inverted else received)
    assert found.aligned
    assert found.inverted is (inverted and n > 2)  # (1 + D) mod 2 is blind to polarity
    assert found.symbol_errors == 2 * hit.size


@pytest.mark.parametrize("name", ["PRBS9", "PRBS31", "PRBS13Q", "PRBS31Q"])
@pytest.mark.parametrize("precoded", [False, True])
def test_blocks_do_not_matter(name, precoded):
    rng = np.random.default_rng(3)
    checker = ErrorChecker(pattern=name, precoded=precoded)
    n = checker.n_levels
    sent = _stream(name, 12_000, rng)
    received, _ = _disturb(precode(sent, n) if precoded else sent, 0.003, n, rng)
    whole = checker.check(received)
    position, differences = None, []
    for first in range(0, 12_000, 1500):
        block, position = checker.step(received[first : first + 1500], position)
        assert block.aligned
        differences.append(block.difference)
    assert np.array_equal(np.concatenate(differences), whole.difference)
    assert whole.position == position


def test_small_blocks_notice_a_loss():
    rng = np.random.default_rng(4)
    checker = ErrorChecker(pattern="PRBS13Q")
    sent = _stream("PRBS13Q", 20_000, rng)
    _, position = checker.step(sent[:10_000], None)
    for first in range(10_000, 11_000, 50):
        outcome, position = checker.step((sent[first : first + 50] + 2) % 4, position)
        if position is None:
            break
    assert position is None
    assert "lost the pattern" in outcome.reason


def test_a_slip_is_followed():
    rng = np.random.default_rng(5)
    sent = _stream("PRBS13Q", 40_000, rng)
    found = ErrorChecker(pattern="PRBS13Q").check(np.delete(sent, 20_010))
    assert found.aligned
    assert found.realignments == 1
    assert found.symbol_errors < 0.25 * 256
    assert found.compared > 39_000


def test_noise_before_lock_is_passed_over():
    rng = np.random.default_rng(6)
    stream = np.concatenate([rng.integers(0, 4, 20_000), _stream("PRBS13Q", 40_000, rng)])
    found = ErrorChecker(pattern="PRBS13Q").check(stream)
    assert found.aligned
    assert 8191 <= found.start <= 20_000 + 8191
    assert found.difference[: found.start].any() == False  # noqa: E712
    assert found.symbol_errors < 0.25 * 256


@pytest.mark.parametrize(
    ("pattern", "symbols", "reason"),
    [
        ("PRBS13Q", np.zeros(0, int), "nothing received"),
        ("PRBS13Q", prbs13q()[:40], "too short: 40 symbols"),
        ("PRBS31", prbs(31, 100), "too short: 100 symbols"),
        ("PRBS13Q", np.full(9000, 2), "all 2"),
        ("PRBS31", np.zeros(9000, int), "all 0"),
        ("PRBS13Q", np.random.default_rng(7).integers(0, 4, 30_000), "not PRBS13Q"),
        ("PRBS31", np.random.default_rng(7).integers(0, 2, 30_000), "not PRBS31"),
        ("PRBS9", prbs(7, 5000), "not PRBS9"),
        ("SSPRQ", ssprq()[:8000], "ambiguous"),  # the pattern holds its first quarter upside down, too
        ("PRBS13Q", np.concatenate([prbs13q(), prbs13q(), np.full(20_000, 3)]), "lost the pattern at symbol"),
    ],
)
def test_not_aligned_says_why(pattern, symbols, reason):
    found = ErrorChecker(pattern=pattern).check(symbols)
    assert not found.aligned
    assert reason in found.reason
    assert found.position is None
    assert found.inverted is None


def test_many_errors_short_of_chance():
    rng = np.random.default_rng(8)
    for name, ratio in (("PRBS13Q", 0.2), ("PRBS31", 0.08), ("PRBS31Q", 0.03), ("SSPRQ", 0.2), ("PRBS15", 0.2)):
        checker = ErrorChecker(pattern=name)
        received, wrong = _disturb(_stream(name, 70_000, rng), ratio, checker.n_levels, rng)
        found = checker.check(received)
        assert found.aligned, name
        assert found.symbol_errors == pytest.approx(wrong.sum(), rel=0.05)


def test_own_pattern():
    checker = ErrorChecker(pattern=(0, 2, 1, 1, 2, 0, 0, 1))
    stream = np.tile(checker.pattern, 40)[3:]
    found = checker.check(2 - stream)
    assert found.aligned
    assert found.inverted
    assert found.symbol_errors == 0
    assert ErrorChecker(pattern=(0, 3)).check(np.tile([0, 3], 100)).inverted is False  # either way up alike
    assert ErrorChecker(pattern=(0, 1, 0, 1)).check(np.tile([0, 1], 300)).aligned  # holds its period twice


def test_known_position_needs_no_search():
    checker = ErrorChecker(pattern="PRBS31")
    found, after = checker.step(prbs(31, 50, seed=77), Position(phase=77, inverted=False))
    assert found.aligned
    assert (found.compared, found.symbol_errors) == (50, 0)
    assert after.phase == prbs_block(31, 50, 77)[1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pattern", "PRBS8"),
        ("pattern", (1,)),
        ("pattern", (1, 1)),
        ("pattern", tuple([0, 1] * 2**17)),
        (r"pattern\[1\]", (1, 16)),
        (r"pattern\[0\]", (0.5, 1)),
        ("precoded", 1),
        ("max_error_ratio", -0.1),
        ("max_error_ratio", 0.5),
    ],
)
def test_bad_checker(field, value):
    with pytest.raises(ValueError, match=f"ErrorChecker.{field}"):
        ErrorChecker(**{"pattern": "PRBS7"} | {field.split("\\")[0]: value})


@pytest.mark.parametrize("symbols", [np.zeros((2, 2), int), np.zeros(4), np.array([0, 2]), np.array([-1, 0])])
def test_bad_symbols(symbols):
    with pytest.raises(ValueError, match=r"ErrorChecker.symbols"):
        ErrorChecker(pattern="PRBS7").check(symbols)
