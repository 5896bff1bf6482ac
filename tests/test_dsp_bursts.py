import numpy as np
import pytest
from scipy.stats import binom

from dsp import kernels
from dsp.bursts import burst_statistics, failure_bounds, fit_gilbert_elliott, measured_chain
from dsp.constellation import decode_precoded, pam, precode
from dsp.detector import Slicer
from dsp.error_chain import ErrorChain, dfe_chain, gilbert_elliott
from dsp.fec import KP4, Fec
from dsp.interleave import Interleaving

SMALL = Fec(n=32, k=24, symbol_bits=10, t=4)


def _independent(p):
    return gilbert_elliott(good_to_bad=0.5, bad_to_good=0.5, error_bad=p, error_good=p)


def _counted(chain, interleaving, groups, rng):
    """Distribution of wrong symbols per word in simulated errors of PAM4 symbols."""
    n = interleaving.bits_per_line // 2
    wrong = np.stack([chain.simulate(groups * n, rng)[0].reshape(groups, n) for _ in range(interleaving.line_lanes)], axis=1)
    counts = interleaving.wrong_symbols(np.repeat(wrong, 2, axis=-1))
    return np.bincount(np.minimum(counts, interleaving.code.t + 1).ravel(), minlength=interleaving.code.t + 2) / counts.size


@pytest.mark.parametrize("layout", [{}, {"ways": 2}, {"ways": 4, "pcs_lanes": 16, "line_lanes": 8}])
def test_independent_errors_are_binomial_through_any_interleaving(layout):
    p = _independent(1e-3).wrong_symbols(Interleaving(code=KP4, **layout))
    symbol = -np.expm1(5 * np.log1p(-1e-3))
    assert p[:-1] == pytest.approx(binom.pmf(np.arange(16), 544, symbol), rel=1e-9)
    assert p[-1] == pytest.approx(float(KP4.codeword_failure(1 - (1 - 1e-3) ** 0.5)), rel=1e-9)


def test_deep_tails_keep_their_accuracy():
    chain = _independent(1e-6)
    expected = float(KP4.codeword_failure(1 - (1 - 1e-6) ** 0.5))
    assert expected < 1e-50
    assert chain.codeword_failure(Interleaving(code=KP4, ways=2)) == pytest.approx(expected, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    "layout",
    [{}, {"ways": 2}, {"ways": 4}, {"ways": 2, "pcs_lanes": 4, "line_lanes": 2}, {"ways": 2, "pcs_lanes": 8, "line_lanes": 4}],
)
def test_exact_distribution_against_counting(layout):
    chain = gilbert_elliott(good_to_bad=0.004, bad_to_good=0.1, error_bad=0.7, error_good=1e-3)
    interleaving = Interleaving(code=SMALL, **layout)
    groups = 12_000 // interleaving.ways
    counted = _counted(chain, interleaving, groups, np.random.default_rng(2))
    exact = chain.wrong_symbols(interleaving)
    assert exact.sum() == pytest.approx(1.0, abs=1e-12)
    # Words of a group share bursts: allow for half as many independent ones.
    assert np.all(np.abs(counted - exact) < 5 * np.sqrt(exact * 2 / 12_000) + 1e-3)


def test_interleaving_breaks_bursts():
    chain = dfe_chain(taps=(0.7,), noise_rms=0.3)
    failure = [chain.codeword_failure(Interleaving(code=KP4, ways=w)) for w in (1, 2, 4)]
    assert failure[0] > 100 * failure[1] > 500 * failure[2]
    # Never better than the same wrong code symbols in random order.
    right = np.linalg.matrix_power(np.array(chain.right), 5)
    assert failure[2] > binom.sf(15, 544, 1 - (chain.steady @ right).sum())


def test_gilbert_elliott_identities():
    chain = gilbert_elliott(good_to_bad=0.01, bad_to_good=0.2, error_bad=0.6, error_good=0.001)
    share = 0.01 / 0.21
    assert chain.steady == pytest.approx([1 - share, share])
    ratio = 0.001 + share * 0.599
    assert chain.symbol_error_ratio == pytest.approx(ratio)
    for lag in (1, 2, 7):
        covariance = share * (1 - share) * 0.599**2 * 0.79**lag
        assert chain.pair_ratio(lag) == pytest.approx(ratio**2 + covariance)
    # Errors certain in the bad state: runs are its sojourns, geometric.
    runs = gilbert_elliott(good_to_bad=0.01, bad_to_good=0.2, error_bad=1.0).run_lengths(20)
    assert runs == pytest.approx(0.2 * 0.8 ** np.arange(20))


def test_rare_states_keep_their_accuracy():
    chain = gilbert_elliott(good_to_bad=1e-18, bad_to_good=0.25, error_bad=1.0)
    assert chain.symbol_error_ratio == pytest.approx(4e-18, rel=1e-12, abs=0)


def test_a_chain_walks_in_blocks():
    chain = gilbert_elliott(good_to_bad=0.05, bad_to_good=0.2, error_bad=0.9)
    whole, end = chain.simulate(500, np.random.default_rng(3), state=0)
    rng, parts, state = np.random.default_rng(3), [], 0
    for n in (1, 0, 199, 300):
        wrong, state = chain.simulate(n, rng, state=state)
        parts.append(wrong)
    assert np.array_equal(np.concatenate(parts), whole)
    assert state == end


def test_kernel_equals_plain_python():
    chain = dfe_chain(taps=(0.8,), noise_rms=0.4)
    cumulative = np.cumsum(np.hstack([chain.right, chain.wrong]), axis=1)
    draws = np.random.default_rng(4).random(400)
    compiled, plain = kernels.error_walk(draws, cumulative, 1), kernels.error_walk.py_func(draws, cumulative, 1)
    assert np.array_equal(compiled[0], plain[0])
    assert compiled[1] == plain[1]


def test_decision_feedback_without_taps_is_the_slicer():
    from dsp.distribution import q

    chain = dfe_chain(taps=(0.0,), noise_rms=0.3)
    assert chain.symbol_error_ratio == pytest.approx(1.5 * q(1 / 0.3), rel=1e-12)


def test_decision_feedback_at_full_tap():
    # With a tap of 1 an error moves the next sample by one spacing: wrong again for all levels that have one there, 3/4.
    runs = dfe_chain(taps=(1.0,), noise_rms=0.1).run_lengths(8)
    assert runs[1:] / runs[:-1] == pytest.approx(np.full(7, 0.75), rel=1e-6)


@pytest.mark.parametrize(("taps", "precoded"), [((0.6,), False), ((0.6,), True), ((0.5, -0.3), False), ((0.9,), True)])
def test_decision_feedback_chain_against_a_running_equaliser(taps, precoded):
    rng = np.random.default_rng(5)
    n, rms = 60_000, 0.42
    levels = pam(4)
    data = rng.integers(4, size=n)
    sent = precode(data, 4) if precoded else data
    received = np.convolve(3 * levels.array[sent], (1, *taps))[:n] + rms * rng.standard_normal(n)  # half spacing 1
    decided = np.zeros(n, int)
    past = [0.0] * len(taps)
    for i, y in enumerate(received.tolist()):
        x = y - sum(b * p for b, p in zip(taps, past, strict=True))
        d = min(max(round((x + 3) / 2), 0), 3)
        decided[i] = d
        past = [2.0 * d - 3, *past[:-1]]
    wrong = (decode_precoded(decided, 4) != data) if precoded else (decided != sent)
    chain = dfe_chain(taps=taps, noise_rms=rms, precoded=precoded)
    counted = burst_statistics(wrong)
    assert counted.errors / n == pytest.approx(chain.symbol_error_ratio, rel=0.12)  # bursts are long: few are independent
    runs = np.array(counted.lengths[1:5]) / counted.bursts
    assert runs == pytest.approx(chain.run_lengths(4), abs=0.025)
    # The chain measured from the signed errors of that run agrees, too.
    measured = measured_chain(decided - sent, memory=len(taps), precoded=precoded)
    assert measured.symbol_error_ratio == pytest.approx(counted.errors / n, rel=1e-2)
    assert measured.run_lengths(4) == pytest.approx(chain.run_lengths(4), abs=0.03)


@pytest.mark.parametrize(
    ("precursor", "correlation"), [(0.05, ()), (-0.05, ()), (0.0, (-0.3,)), (0.0, (0.3,)), (0.03, (-0.25, -0.15, 0.2))]
)
def test_chain_with_a_precursor_and_coloured_noise_against_a_running_equaliser(precursor, correlation):
    rng = np.random.default_rng(6)
    n, rms, tap = 150_000, 0.4, 0.7
    r = np.array([1.0, *correlation])
    order = len(correlation)
    past = np.linalg.solve(r[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))], r[1:]) if order else np.zeros(0)
    noise = rms * np.sqrt(1 - past @ r[1:]) * rng.standard_normal(n)
    sent = rng.integers(4, size=n)
    moved = 2.0 * sent - 3 + precursor * np.append(2.0 * sent[1:] - 3, 0.0)
    wrong, e, last = np.zeros(n, bool), 0, [0.0] * order
    for i, x in enumerate(moved.tolist()):
        v = float(noise[i]) + sum(a * b for a, b in zip(past, last, strict=True))
        last = [v, *last[:-1]] if order else last
        e = min(max(round((x + v - 2 * tap * e + 3) / 2), 0), 3) - int(sent[i])
        wrong[i] = e != 0
    chain = dfe_chain(taps=(tap, 0.0), noise_rms=rms, precursor=precursor, correlation=correlation)
    counted = burst_statistics(wrong)
    assert counted.errors / n == pytest.approx(chain.symbol_error_ratio, rel=0.08)
    assert np.array(counted.lengths[1:5]) / counted.bursts == pytest.approx(chain.run_lengths(4), abs=0.035)


def test_correlation_alone_leaves_the_error_ratio():
    white = dfe_chain(taps=(), noise_rms=0.3).symbol_error_ratio
    for correlation in ((0.6,), (-0.6,), (0.3, -0.3)):
        chain = dfe_chain(taps=(0.0, 0.0), noise_rms=0.3, correlation=correlation)
        assert chain.symbol_error_ratio == pytest.approx(white, rel=0.05)


def test_precoding_shortens_full_tap_bursts_to_two():
    plain, precoded = (dfe_chain(taps=(1.0,), noise_rms=0.22, precoded=p) for p in (False, True))
    assert precoded.symbol_error_ratio == pytest.approx(plain.symbol_error_ratio / 2, rel=0.02)
    interleaving = Interleaving(code=KP4)
    assert precoded.codeword_failure(interleaving) < 1e-3 * plain.codeword_failure(interleaving)
    nothing = [dfe_chain(taps=(0.0,), noise_rms=0.3, precoded=p).symbol_error_ratio for p in (False, True)]
    assert nothing[1] == pytest.approx(2 * nothing[0], rel=2e-3)


def test_counting_bursts():
    wrong = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1], bool)
    touching = burst_statistics(wrong)
    assert touching.lengths == (0, 3, 1)
    assert (touching.symbols, touching.errors, touching.bursts) == (12, 5, 4)
    assert touching.pairs[:3] == (1, 1, 2)
    assert touching.mean_length == pytest.approx(1.25)
    guarded = burst_statistics(wrong, guard=2)
    assert guarded.lengths == (0, 2, 0, 0, 1)
    assert guarded.weights == (0, 2, 0, 1)
    nothing = burst_statistics(np.zeros(50, bool))
    assert nothing.bursts == 0
    assert np.isnan(nothing.mean_length)


def test_fit_recovers_the_chain():
    truth = gilbert_elliott(good_to_bad=0.002, bad_to_good=0.15, error_bad=0.6)
    wrong, _ = truth.simulate(1_500_000, np.random.default_rng(6))
    fitted = fit_gilbert_elliott(burst_statistics(wrong))
    assert fitted.symbol_error_ratio == pytest.approx(wrong.mean(), rel=1e-6)
    assert fitted.wrong[1][1] == pytest.approx(truth.wrong[1][1], rel=0.05)
    assert fitted.right[1][0] + fitted.wrong[1][0] == pytest.approx(0.15, rel=0.1)
    rarer = fit_gilbert_elliott(burst_statistics(wrong), error_ratio=1e-5)
    assert rarer.symbol_error_ratio == pytest.approx(1e-5)
    assert rarer.wrong[1][1] == pytest.approx(fitted.wrong[1][1], rel=0.05)


def test_independent_errors_fit_the_independent_chain():
    wrong = np.random.default_rng(7).random(200_000) < 2e-3
    fitted = fit_gilbert_elliott(burst_statistics(wrong))
    assert fitted.pair_ratio(1) == pytest.approx(fitted.symbol_error_ratio**2)


def test_bounds_hold_the_truth():
    chain = dfe_chain(taps=(0.7,), noise_rms=0.3)
    interleaving = Interleaving(code=KP4, ways=2)
    wrong, _ = chain.simulate(1_000_000, np.random.default_rng(8))
    low, middle, high = failure_bounds(burst_statistics(wrong), interleaving)
    assert low < middle < high
    assert low < chain.codeword_failure(interleaving) < high


def test_slicer_of_the_library_sees_the_same_errors():
    # dfe_chain without feedback against decisions of `Slicer`.
    rng = np.random.default_rng(9)
    levels = pam(4)
    sent = rng.integers(4, size=100_000)
    decided = Slicer().decide(levels.array[sent] + 0.5 / 3 * rng.standard_normal(sent.size), levels)
    assert np.mean(decided != sent) == pytest.approx(dfe_chain(taps=(), noise_rms=0.5).symbol_error_ratio, rel=0.03)


ROW = ((1.0,),), ((0.0,),)


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("right", [[1.0]], ((0.0,),)),
        ("right", (), ((0.0,),)),
        ("right", ((1.0, 0.0),), ((0.0,),)),
        (r"right\[0\]\[0\]", ((1.5,),), ((0.0,),)),
        (r"wrong\[0\]\[0\]", ((1.0,),), ((-0.1,),)),
        ("wrong", ((1.0,),), ((0.5,),)),
        ("wrong", ((1.0,),), ((0.0, 0.0), (0.0, 0.0))),
        ("right", ((1.0, 0.0), (0.0, 1.0)), ((0.0, 0.0), (0.0, 0.0))),
    ],
)
def test_bad_chain(field, right, wrong):
    with pytest.raises(ValueError, match=f"ErrorChain.{field}"):
        ErrorChain(right=right, wrong=wrong)


def test_bad_arguments():
    chain = _independent(0.1)
    rng = np.random.default_rng(0)
    statistics = burst_statistics(np.array([0, 1, 0, 0, 1, 0], bool))
    for call in (
        lambda: gilbert_elliott(good_to_bad=1.1, bad_to_good=0.1),
        lambda: gilbert_elliott(good_to_bad=0.1, bad_to_good=-0.1),
        lambda: gilbert_elliott(good_to_bad=0.1, bad_to_good=0.1, error_bad=2.0),
        lambda: gilbert_elliott(good_to_bad=0.1, bad_to_good=0.1, error_good=-1.0),
        lambda: gilbert_elliott(good_to_bad=0.0, bad_to_good=0.0),
        lambda: dfe_chain(taps=[0.5], noise_rms=0.1),
        lambda: dfe_chain(taps=(0.5,) * 7, noise_rms=0.1),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.0),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.1, n_levels=1),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.1, reach=4),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.1, precursor=1.5),
        lambda: dfe_chain(taps=(0.5,) * 5, noise_rms=0.1, precursor=0.1),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.1, correlation=0.5),
        lambda: dfe_chain(taps=(0.5,), noise_rms=0.1, correlation=(0.9, -0.9)),
        lambda: chain.run_lengths(0),
        lambda: chain.pair_ratio(0),
        lambda: chain.simulate(-1, rng),
        lambda: chain.simulate(1, rng, state=2),
        lambda: chain.wrong_symbols(Interleaving(code=KP4), bits_per_symbol=3),
        lambda: chain.wrong_symbols(Interleaving(code=KP4), bits_per_symbol=0),
        lambda: chain.wrong_symbols(Interleaving(code=KP4, ways=2, pcs_lanes=8, line_lanes=4, mux="bit")),
        lambda: measured_chain(np.zeros(10, int)),
        lambda: measured_chain(np.ones((2, 3), int)),
        lambda: measured_chain(np.ones(10, int), memory=0),
        lambda: measured_chain(np.ones(10, int), n_levels=1),
        lambda: burst_statistics(np.zeros((2, 2), bool)),
        lambda: burst_statistics(np.zeros(4, bool), guard=0),
        lambda: burst_statistics(np.zeros(4, bool), lags=1),
        lambda: fit_gilbert_elliott(burst_statistics(np.zeros(4, bool))),
        lambda: fit_gilbert_elliott(statistics, error_good=0.9),
        lambda: fit_gilbert_elliott(statistics, error_good=-0.1),
        lambda: fit_gilbert_elliott(statistics, error_ratio=1.5),
        lambda: failure_bounds(statistics, Interleaving(code=KP4), confidence=1.0),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()


@pytest.mark.parametrize(
    ("correlation", "most"), [((0.3,), 0.003), ((0.5, 0.2), 0.02), ((0.6, 0.3, 0.1), 0.042), ((0.8,), 0.19)]
)
def test_colour_of_the_noise_alone_moves_the_ratio_a_little(correlation, most):
    """Without feedback it could not move it at all: what a Gaussian for the noise behind right decisions costs, on the safe side."""
    alone = dfe_chain(taps=(), noise_rms=0.3).symbol_error_ratio
    assert 0 <= dfe_chain(taps=(), noise_rms=0.3, correlation=correlation).symbol_error_ratio / alone - 1 < most
