import numpy as np
import pytest

from dsp import kernels
from dsp.constellation import Constellation, pam, qam
from dsp.detector import SequenceDetector, Slicer, _branches
from dsp.distribution import q
from dsp.error_events import error_events

TARGETS = [(1.0, 0.5), (1.0, -0.4), (1.0, 1.0), (0.9, 0.4, 0.2), (1.0, 0.3, -0.2, 0.1)]


def _samples(target, levels, n, rms, rng):
    symbols = rng.integers(levels.n, size=n)
    return symbols, np.convolve(levels.array[symbols], target)[:n] + rms * rng.standard_normal(n)


@pytest.mark.parametrize("constellation", [pam(2), pam(4), pam(4, 0.9), pam(6), qam(16)])
def test_points_are_decided_for_themselves(constellation):
    points = constellation.array
    assert Slicer().decide(points, constellation).tolist() == list(range(constellation.n))


@pytest.mark.parametrize("constellation", [pam(4, 0.9), qam(16)])
def test_decision_is_the_nearest_point(constellation):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.5, 1.5, (4, 50))
    if not constellation.is_real:
        x = x + 1j * rng.uniform(-1.5, 1.5, x.shape)
    decided = Slicer().decide(x, constellation)
    assert decided.shape == x.shape
    distance = np.abs(x[..., None] - constellation.array)
    assert np.take_along_axis(distance, decided[..., None], -1)[..., 0] == pytest.approx(distance.min(axis=-1))


@pytest.mark.parametrize("detector", [Slicer(), SequenceDetector(target=(1.0, 0.5))])
def test_detectors_are_values(detector):
    again = type(detector)(**{f: getattr(detector, f) for f in getattr(detector, "__dataclass_fields__", {})})
    assert detector == again
    assert hash(detector) == hash(again)


@pytest.mark.parametrize("levels", [pam(2), pam(4), pam(4, 0.85), pam(6), pam(8)])
@pytest.mark.parametrize("target", TARGETS)
def test_no_noise_no_error(levels, target):
    if levels.n ** (len(target) - 1) > 300:
        return
    symbols, x = _samples(target, levels, 300, 0.0, np.random.default_rng(1))
    decided = SequenceDetector(target=target).decide(x, levels)
    known = len(target) - 1  # what came before the samples is not known to the detector, nor zero as here
    assert np.array_equal(decided[known + 25 :], symbols[known + 25 :])


@pytest.mark.parametrize("target", [(1.0, 0.5), (1.0, 0.4, 0.3), (1.0, 0.4, 0.3, -0.2)])
@pytest.mark.parametrize("levels", [pam(2), pam(4)])
def test_decisions_are_the_most_likely_sequence(target, levels):
    # Short enough to try every sequence, known symbols all around.
    rng = np.random.default_rng(2)
    memory, n = len(target) - 1, 5
    head, rest = rng.integers(levels.n, size=24), rng.integers(levels.n, size=24)
    grid = np.stack(np.meshgrid(*[np.arange(levels.n)] * n, indexing="ij"), axis=-1).reshape(-1, n)
    every = np.concatenate([np.tile(head[-memory:], (len(grid), 1)), grid, np.tile(rest[:memory], (len(grid), 1))], axis=1)
    clean = sum(h * levels.array[every[:, memory - k : every.shape[1] - k]] for k, h in enumerate(target))
    spacing = 2 / (levels.n - 1)
    for _ in range(10):
        sent = np.concatenate([head, rng.integers(levels.n, size=n), rest])
        x = np.convolve(levels.array[sent], target)[: sent.size]
        x[24 : 24 + n + memory] += 0.45 * spacing * rng.standard_normal(n + memory)
        best = grid[np.argmin(np.sum((clean - x[24 : 24 + n + memory]) ** 2, axis=1))]
        decided = SequenceDetector(target=target).decide(x, levels)
        known = np.array_equal(decided[24 - memory : 24], head[-memory:])
        known = known and np.array_equal(decided[24 + n : 24 + n + memory], rest[:memory])
        assert np.array_equal(decided[24 : 24 + n], best) or not known


@pytest.mark.parametrize(("levels", "target"), [(pam(4), (1.0, 0.8)), (pam(2), (1.0, 0.4, 0.2)), (pam(6), (1.0, 0.5))])
@pytest.mark.parametrize("lag", [None, 6])
def test_blocks_do_not_matter(levels, target, lag):
    rng = np.random.default_rng(4)
    _, x = _samples(target, levels, 700, 0.2, rng)
    detector = SequenceDetector(target=target, lag=lag)
    whole = detector.decide(x, levels)
    assert whole.size == x.size
    for sizes in ([1] * 700, [0, 3, 5, 0, 192, 500], [699, 1]):
        parts, state = [], detector.start(levels)
        for size, first in zip(sizes, np.cumsum([0, *sizes[:-1]]), strict=True):
            part, state = detector.step(x[first : first + size], state)
            parts.append(part)
        assert state.pending == detector.lag_of(levels)
        assert np.array_equal(np.concatenate([*parts, detector.finish(state)]), whole)


def test_a_state_can_be_continued_twice():
    levels, detector = pam(4), SequenceDetector(target=(1.0, 0.5))
    _, x = _samples((1.0, 0.5), levels, 200, 0.1, np.random.default_rng(5))
    _, state = detector.step(x[:100], detector.start(levels))
    first, _ = detector.step(x[100:], state)
    again, _ = detector.step(x[100:], state)
    assert np.array_equal(first, again)


def test_long_runs_keep_their_metrics_finite():
    # The mean square error is as large as the signal: metrics are renewed many times over.
    levels, detector = pam(4), SequenceDetector(target=(1.0, 0.5))
    x = 30 * np.random.default_rng(6).standard_normal(20_000)
    _, state = detector.step(x, detector.start(levels))
    assert np.max(state.metrics) < 2e4


@pytest.mark.parametrize(
    ("target", "levels", "ratio"),
    [((1.0, 0.5), pam(4), 0.0), ((1.0, 0.6), pam(2), 0.0), ((1.0, 0.4, 0.2), pam(2), 0.0), ((1.0, 0.9), pam(4), 0.15)],
)
def test_error_ratio_meets_the_union_bound(target, levels, ratio):
    spacing = 2 / (levels.n - 1)
    events = error_events(target, levels.n)
    rms = events.distance[0] * spacing / 2 / 3.6
    symbols, x = _samples(target, levels, 1_000_000, rms, np.random.default_rng(7))
    counted = np.mean(SequenceDetector(target=target).decide(x, levels) != symbols)
    bound = events.symbol_error_ratio(rms, spacing)
    assert bound * (0.8 - ratio) < counted < bound * 1.1


def test_longer_lag_is_no_worse():
    levels, target = pam(4), (1.0, 0.9)
    symbols, x = _samples(target, levels, 100_000, 0.14, np.random.default_rng(8))
    errors = [np.sum(SequenceDetector(target=target, lag=lag).decide(x, levels) != symbols) for lag in (1, 4, 12, 30)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[3] == pytest.approx(errors[2], rel=0.05)


def test_events_of_one_plus_ad():
    # 1 + (j - 1)(1 - a)^2 + a^2 for alternating unit errors, the rest of the events being farther.
    a = 0.8
    events = error_events((1.0, a), 4, longest=6)
    near = [(d, n, c) for d, n, c in zip(events.distance, events.symbols, events.chance, strict=True) if n <= 6][:6]
    for j, (d, n, c) in enumerate(near, 1):
        assert n == j
        assert d**2 == pytest.approx(1 + (j - 1) * (1 - a) ** 2 + a**2)
        assert c == pytest.approx(2 * 0.75**j)


def test_events_without_memory_are_the_slicer():
    assert error_events((1.0,), 4).symbol_error_ratio(0.1, 2 / 3) == pytest.approx(1.5 * float(q(1 / 0.3)))


def test_duobinary_events_are_all_as_near():
    events = error_events((1.0, 1.0), 2, reach=1.0, longest=10)
    assert events.distance == pytest.approx([2**0.5] * 10)
    assert sorted(events.symbols) == list(range(1, 11))


@pytest.mark.parametrize(("levels", "target"), [(pam(4), (1.0, 0.7)), (pam(3), (1.0, 0.4, 0.2))])
def test_kernels_equal_plain_python(levels, target):
    _, x = _samples(target, levels, 60, 0.3, np.random.default_rng(9))
    x[30:40] *= 60  # large enough to renew the metrics
    tails, steps = _branches(target, tuple(float(p.real) for p in levels.points))
    results = []
    for kernel in (kernels.viterbi, kernels.viterbi.py_func):
        metrics, history = np.zeros(tails.size), np.zeros(tails.size, np.int64)
        results.append((kernel(x, tails, steps, metrics, history, 10, 2), metrics, history))
    if levels.n == 4:
        for kernel in (kernels.viterbi_pam4, kernels.viterbi_pam4.py_func):
            metrics, history = np.zeros(4), np.zeros(4, np.int64)
            results.append((kernel(x, tails, steps, metrics, history, 10), metrics, history))
    for decided, metrics, history in results[1:]:
        assert np.array_equal(decided, results[0][0])
        assert metrics == pytest.approx(results[0][1], abs=1e-9)
        assert np.array_equal(history & (2**40 - 1), results[0][2] & (2**40 - 1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target", [1.0, 0.5]), ("target", (1.0,)), ("target", (1.0,) * 5), ("target", (0.0, 1.0)), ("target", (1.0, np.inf)),
        ("lag", 0), ("lag", 62), ("lag", 3.5),
    ],
)  # fmt: skip
def test_bad_detector(field, value):
    with pytest.raises(ValueError, match=f"SequenceDetector.{field}"):
        SequenceDetector(**{"target": (1.0, 0.5)} | {field: value})


def test_bad_arguments():
    detector = SequenceDetector(target=(1.0, 0.5), lag=40)
    many = Constellation(points=tuple(float(i) for i in range(20)), labels=tuple(range(20)))
    for call, field in [
        (lambda: detector.decide(np.zeros(3), pam(4)), "lag"),
        (lambda: SequenceDetector(target=(1.0, 0.5)).decide(np.zeros(3), qam(16)), "constellation"),
        (lambda: SequenceDetector(target=(1.0, 0.5, 0.1, 0.1)).start(many), "target"),
        (lambda: detector.decide(np.zeros((2, 3)), pam(2)), "x"),
        (lambda: detector.decide(np.array([0.0, np.nan]), pam(2)), "x"),
    ]:
        with pytest.raises(ValueError, match=f"SequenceDetector.{field}"):
            call()
    for call in (
        lambda: error_events([1.0], 4),
        lambda: error_events((0.0, 1.0), 4),
        lambda: error_events((1.0, 0.5), 1),
        lambda: error_events((1.0, 0.5), 4, reach=0.0),
        lambda: error_events((1.0, 0.5), 4, longest=0),
        lambda: error_events((1.0, 0.5), 4).symbol_error_ratio(0.0, 1.0),
        lambda: error_events((1.0, 0.5), 4).symbol_error_ratio(1.0, 0.0),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()
