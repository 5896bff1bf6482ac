"""The receiver loop: independent of blocks, equal in plain Python, and right against closed forms."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsp import receiver, timing
from dsp.clock import MuellerMuller, detector_gain, lock_phase
from dsp.constellation import pam
from dsp.converter import Converter, LaneMismatch
from dsp.equalizer import Mmse, Taps
from dsp.receiver import ReceiverLoop, Stage

PAM4 = pam(4)
ONE = Taps(feed_forward=(1.0,), n_precursors=0)
SHORT = Taps(feed_forward=(-0.05, 1.0, -0.1), n_precursors=1, feedback=(0.2,))
LANES = LaneMismatch(gain=(0.02, -0.01, -0.01), offset=(0.01, 0.0, -0.01), skew_ui=(0.02, 0.0, -0.02))
LMS = Stage(rule="lms", feed_forward_step=1e-3, feedback_step=1e-3)


def bell(tau, width=0.5):
    """Test pulse, well inside the symbol rate; its peak at 0."""
    return np.exp(-0.5 * (tau / width) ** 2)


def single_pole(tau, rc=0.5):
    inside = np.clip(tau, 0, 1)
    return np.where(tau > 0, (1 - np.exp(-inside / rc)) * np.exp(-np.maximum(tau - 1, 0) / rc), 0.0)


def waveform(symbols, pulse, m, start=-4, stop=12):
    """Pulses of the given symbols at ``m`` samples a symbol; symbol k's time zero lies at sample (k - start) m."""
    taps = pulse(start + np.arange((stop - start) * m) / m)
    x = np.zeros(symbols.size * m)
    x[::m] = symbols
    return np.convolve(x, taps)


def run(loop, wave, first, cuts=(), jitter=None, known=None, compiled=True):
    state, z, index, phase = receiver.start(loop, first), [], [], []
    edges = [0, *sorted(c % (wave.size + 1) for c in cuts), wave.size]
    for i, (a, b) in enumerate(pairwise(edges)):
        j = None if jitter is None else jitter[a:b]
        out, state = receiver.step(loop, wave[a:b], state, j, known if i == 0 else None, compiled)
        z.append(out.equalized)
        index.append(out.index)
        phase.append(out.phase_ui)
    return np.concatenate(z), np.concatenate(index), np.concatenate(phase), state


def everything(**changes):
    """A loop with all modes on."""
    taps = Taps(feed_forward=(0.05, -0.15, 1.1, -0.1, 0.02), n_precursors=2, feedback=(0.1, 0.05))
    given = {
        "samples_per_symbol": 3.998, "constellation": PAM4, "taps": taps, "timing_gains": (1e-2, 5e-5), "latency": 3,
        "converter_step": 2 * 1.5 / 63, "full_scale": 1.5, "jittered": True, "stages": (LMS,),
    }  # fmt: skip
    return ReceiverLoop(**(given | changes))


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 4, 500)
    wave = waveform(PAM4.array[symbols], bell, 4)
    return symbols, wave + 0.03 * rng.standard_normal(wave.size), 0.02 * rng.standard_normal(wave.size)


@settings(deadline=None, max_examples=20)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=15))
def test_any_division_into_blocks_gives_the_same_bits(cuts, noisy):
    _, wave, jitter = noisy
    whole, split = run(everything(), wave, 16.3, jitter=jitter), run(everything(), wave, 16.3, cuts, jitter=jitter)
    for a, b in zip(whole[:3], split[:3], strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(whole[3].feed_forward, split[3].feed_forward)


def test_blocks_of_one_sample(noisy):
    _, wave, jitter = (x[:800] for x in noisy)
    whole, split = run(everything(), wave, 16, jitter=jitter), run(everything(), wave, 16, range(wave.size + 1), jitter=jitter)
    assert np.array_equal(whole[0], split[0])


@pytest.mark.parametrize(
    "loop",
    [
        everything(),
        everything(timing_gains=(0.0, 0.0), jittered=False),
        everything(update=16),
        everything(update=16, samples_per_symbol=4, jittered=False, latency=0, timing_gains=(1e-3, 1e-6)),
        everything(update=8, samples_per_symbol=4, jittered=False, latency=0, taps=SHORT),
        everything(detector="gardner", timing_gains=(1e-3, 1e-6)),
        everything(detector="bang-bang", timing_gains=(1e-3, 1e-6)),
        everything(
            stages=(
                Stage(rule="cma", feed_forward_step=1e-3, n_symbols=100),
                Stage(rule="sign-lms", feed_forward_step=1e-3, level_step=1e-3),
            )
        ),
        everything(mismatch=LANES),
        everything(latency=0, converter_step=0.0),
        everything(constellation=pam(2), stages=(Stage(),)),
        everything(taps=ONE),
        everything(acquire_gains=(2e-2, 2e-4), lost=0.004, timing_bias=0.05, latency=0),
    ],
    ids=[
        "all",
        "fixed",
        "16",
        "16 even",
        "8 shifts",
        "Gardner",
        "bang-bang",
        "stages",
        "lanes",
        "no delay",
        "NRZ",
        "one tap",
        "acquisition",
    ],
)
def test_plain_python_gives_the_same_decisions(loop, noisy):
    symbols, wave, jitter = noisy
    jitter = jitter if loop.jittered else None
    known = np.array(symbols[:50] % loop.constellation.n, np.uint8)
    fast = run(loop, wave, 16.0, (300,), jitter, known)
    plain = run(loop, wave, 16.0, (300,), jitter, known, compiled=False)
    assert np.array_equal(fast[1], plain[1])
    assert np.max(np.abs(fast[0] - plain[0])) < 1e-9
    assert np.max(np.abs(fast[2] - plain[2])) < 1e-9


def test_taps_are_confined():
    from dsp import kernels

    for run in (kernels.confine, kernels.confine.py_func):
        taps = np.array([0.5, -2.0, 1.0, -0.1])
        assert run(taps, 2, 0.3) == pytest.approx(3.6)
        assert taps.tolist() == [0.3, -0.3, 1.0, -0.1]
        assert run(taps, 2, 1e300) == pytest.approx(1.7)


def test_state_is_not_changed(noisy):
    _, wave, jitter = noisy
    state = run(everything(), wave[:500], 16, jitter=jitter[:500])[3]
    first, _ = receiver.step(everything(), wave[500:], state, jitter[500:])
    again, _ = receiver.step(everything(), wave[500:], state, jitter[500:])
    assert np.array_equal(first.equalized, again.equalized)


@pytest.mark.parametrize("samples_per_symbol", [2, 2.5, 4, 7.3, 32])
def test_samples_lie_where_they_should(samples_per_symbol):
    # a tone at half the symbol rate, sampled at the symbol rate from a fraction of a sample on
    n = np.arange(int(200 * samples_per_symbol))
    tone = np.cos(np.pi * 0.9 * n / samples_per_symbol)
    loop = ReceiverLoop(samples_per_symbol=samples_per_symbol, constellation=PAM4, taps=ONE)
    z, *_ = run(loop, tone, 3 * samples_per_symbol + 0.37)
    expected = np.cos(np.pi * 0.9 * (3 + 0.37 / samples_per_symbol + np.arange(z.size)))
    assert z.size > 190
    assert np.max(np.abs(z - expected)[5:]) < 10 ** (-45 / 20)


def test_interpolator_reaches_its_accuracy_and_passes_constants():
    n = np.arange(400)
    at, beyond = np.full(300, 150), np.linspace(-20, 20, 300)
    for f in (0.05, 0.1375, 0.25):  # of the sample rate: up to the symbol rate at 4 samples a symbol
        tone = timing.interpolate(np.cos(2 * np.pi * f * n), at, beyond, 4)
        assert np.max(np.abs(tone - np.cos(2 * np.pi * f * (at + beyond)))) < 10 ** (-60 / 20)
    assert timing.interpolate(np.ones(400), at, beyond, 4) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(timing.interpolate(np.ones(10), np.array([-50, 50]), np.zeros(2), 4), [0, 0])


def test_interpolator_in_plain_python():
    from dsp import kernels

    wave, table = np.random.default_rng(2).standard_normal(60), timing.table_for(4)
    at, beyond = np.arange(-2, 62), np.linspace(-3, 3, 64)
    fast = kernels.interpolate(wave, at, beyond, *table)
    assert fast == pytest.approx(kernels.interpolate.py_func(wave, at, beyond, *table), abs=1e-12)


def test_decisions_follow_the_thresholds_of_any_constellation():
    for constellation in (pam(2), pam(3), pam(4, 0.9), pam(8)):
        loop = ReceiverLoop(samples_per_symbol=2, constellation=constellation, taps=ONE)
        x = np.repeat(np.concatenate((constellation.thresholds - 0.01, constellation.thresholds + 0.01)), 200)
        z, index, *_ = run(loop, x, 10)
        assert np.array_equal(index, np.searchsorted(constellation.thresholds, z))
        assert set(index) == set(range(constellation.n))


def test_quantiser_is_the_converter(noisy):
    _, wave, _ = noisy
    converter = Converter(n_bits=5)
    loop = ReceiverLoop(samples_per_symbol=4, constellation=PAM4, taps=ONE)
    plain = run(loop, wave, 16)[0]
    coarse = ReceiverLoop(
        samples_per_symbol=4, constellation=PAM4, taps=ONE, converter_step=converter.step(0.8), full_scale=0.8
    )
    assert run(coarse, wave, 16)[0] == pytest.approx(converter.convert(plain, 0.8), abs=1e-12)


def test_equalised_samples_are_those_of_the_taps():
    rng = np.random.default_rng(3)
    x = np.repeat(rng.standard_normal(300), 2)
    taps = Taps(feed_forward=(0.1, 1.0, -0.3), n_precursors=1, feedback=(0.2,))
    loop = ReceiverLoop(samples_per_symbol=2, constellation=PAM4, taps=taps)
    raw = run(ReceiverLoop(samples_per_symbol=2, constellation=PAM4, taps=ONE), x, 0)[0]
    z, index, *_ = run(loop, x, 0)
    before = np.concatenate(([0], PAM4.array[index[:-1]]))
    w = np.concatenate(([0], raw))
    n = min(z.size, raw.size - 1)
    # z[k] = w[0] x[k+1] + w[1] x[k] + w[2] x[k-1] - b a[k-1]
    assert z[:n] == pytest.approx(0.1 * w[2 : n + 2] + w[1 : n + 1] - 0.3 * w[:n] - 0.2 * before[:n])


def test_known_symbols_stand_in_for_decisions():
    rng = np.random.default_rng(4)
    symbols = rng.integers(0, 4, 400)
    wave = waveform(PAM4.array[symbols], lambda t: bell(t, 0.2) + 0.3 * bell(t - 1, 0.2), 4)
    loop = ReceiverLoop(
        samples_per_symbol=4, constellation=PAM4, taps=Taps(feed_forward=(1.0,), n_precursors=0, feedback=(0.3,))
    )
    wrong = np.full(100, 0, np.uint8)
    good, bad = run(loop, wave, 16)[0], run(loop, wave, 16, known=wrong)[0]
    assert good[1:100] - bad[1:100] == pytest.approx(-0.3 * (PAM4.array[symbols[:99]] + 1), abs=2e-3)
    assert good[110:] == pytest.approx(bad[110:])


def test_decision_directed_loop_finds_the_published_phase(cases_dir):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == "D33")["expect"]
    symbols = PAM4.array[np.random.default_rng(5).integers(0, 4, 12000)]
    m = 32  # the single pole's kinks need a fine waveform
    wave = waveform(symbols, single_pole, m)
    lock = lock_phase(single_pole, 1.0)
    gain = detector_gain(single_pole, lock, PAM4.mean_square)
    taps = Taps(feed_forward=(1 / float(single_pole(np.array(lock))),), n_precursors=0, feedback=(0.13,))
    loop = ReceiverLoop(
        samples_per_symbol=m, constellation=PAM4, taps=taps, timing_gains=MuellerMuller(bandwidth=1e-3).gains(gain)
    )
    # the single tap opens the eye from -0.2 to +0.04 UI around the lock; from further away the loop is led by known symbols
    known = np.searchsorted(PAM4.array, symbols)[:3000].astype(np.uint8)
    for begin, led_by in ((lock - 0.2, None), (lock + 0.04, None), (lock - 0.4, known), (lock + 0.4, known)):
        phase = begin + run(loop, wave, (4 + begin) * m, known=led_by)[2][-6000:].mean()
        assert phase == pytest.approx(case["lock_phase_UI"]["value"], abs=case["loop_tol_UI"])


def test_loop_follows_a_frequency_offset():
    symbols = PAM4.array[np.random.default_rng(6).integers(0, 4, 20000)]
    wave = waveform(symbols, bell, 4)
    gains = MuellerMuller(bandwidth=2e-3).gains(detector_gain(bell, 0.0, PAM4.mean_square))
    taps = Mmse(n_taps=5, n_precursors=2, n_feedback=0).solve(bell(np.arange(-8.0, 8)), 8, np.array([1e-4]), PAM4.mean_square)[
        0
    ]
    loop = ReceiverLoop(samples_per_symbol=4 * (1 + 2e-4), constellation=PAM4, taps=taps, timing_gains=gains)
    _, index, phase, state = run(loop, wave, 16)
    assert state.drift_ui == pytest.approx(-2e-4, rel=0.2)
    assert np.array_equal(PAM4.array[index[3000:19990]], symbols[3000:19990])
    assert phase[-1] == pytest.approx(-2e-4 * phase.size, abs=0.1)


@pytest.mark.parametrize(("latency", "n_pre"), [(0, 0), (40, 0), (0, 3)])
def test_loop_has_the_transfer_of_its_closed_form(latency, n_pre):
    # displace the instants by a sine and see how the loop undoes it
    n, f, clock = 40000, 2e-3, MuellerMuller(bandwidth=1e-3, latency=latency)
    symbols = PAM4.array[np.random.default_rng(7).integers(0, 4, n)]
    wave = waveform(symbols, bell, 4)
    k = np.arange(wave.size)
    taps = Taps(feed_forward=(0.0,) * n_pre + (1.0,), n_precursors=n_pre, feedback=(0.13,))
    gains = clock.gains(detector_gain(bell, 0.0, PAM4.mean_square))
    loop = ReceiverLoop(samples_per_symbol=4, constellation=PAM4, taps=taps, timing_gains=gains, latency=latency, jittered=True)
    known = np.searchsorted(PAM4.array, symbols).astype(np.uint8)
    phase = run(loop, wave, 16, jitter=0.05 * np.cos(2 * np.pi * f * k), known=known)[2]
    use = slice(10000, 10000 + 29500)
    answer = -2 * np.mean(phase[use] * np.exp(-2j * np.pi * f * k[use])) / 0.05
    assert answer == pytest.approx(complex(clock.jitter_transfer(np.array(f), decision_delay=n_pre)), abs=0.12)


def test_adaptation_finds_the_ideal_feedback_taps(cases_dir):
    given = json.loads((cases_dir / "dfe_known_cursors.json").read_text())
    expect = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == "D34")["expect"]
    h = np.array([given["cursors"][str(k)] for k in range(-1, 5)])
    symbols = PAM4.array[np.random.default_rng(8).integers(0, 4, 6000)]
    x = np.repeat(np.convolve(symbols, h), 2)
    taps = Taps(feed_forward=(1 / h[1],), n_precursors=0, feedback=(0.0, 0.0))
    loop = ReceiverLoop(samples_per_symbol=2, constellation=PAM4, taps=taps, stages=(Stage(rule="lms", feedback_step=2e-3),))
    known = np.searchsorted(PAM4.array, symbols).astype(np.uint8)
    state = run(loop, x, 2, known=known)[3]
    assert h[1] * state.feedback == pytest.approx(expect["ideal_taps_volts"], abs=expect["lms_tol_abs"])


def test_adaptation_lowers_the_error_to_that_of_the_solved_taps():
    rng = np.random.default_rng(9)
    symbols = PAM4.array[rng.integers(0, 4, 40000)]
    pulse = lambda t: bell(t, 0.45) + 0.15 * bell(t - 1, 0.5)  # noqa: E731
    wave = waveform(symbols, pulse, 4)
    wave += 0.03 * rng.standard_normal(wave.size)
    solved, error = Mmse(n_taps=9, n_precursors=3).solve(pulse(np.arange(-8.0, 8)), 8, np.array([0.03**2]), PAM4.mean_square)
    rough = Taps(feed_forward=(0.0,) * 3 + (1.0,) + (0.0,) * 5, n_precursors=3, feedback=(0.0,))
    loop = ReceiverLoop(
        samples_per_symbol=4,
        constellation=PAM4,
        taps=rough,
        stages=(Stage(rule="lms", feed_forward_step=2e-3, feedback_step=2e-3),),
    )
    known = np.searchsorted(PAM4.array, symbols)[:10000].astype(np.uint8)
    z, *_ = run(loop, wave, 16, known=known)
    assert np.mean((z[20000:39990] - symbols[20000:39990]) ** 2) == pytest.approx(error, rel=0.12)
    fixed = ReceiverLoop(samples_per_symbol=4, constellation=PAM4, taps=solved)
    z, *_ = run(fixed, wave, 16)
    assert np.mean((z[20:39990] - symbols[20:39990]) ** 2) == pytest.approx(error, rel=0.05)


def test_jitter_must_come_exactly_when_asked_for():
    loop = everything()
    with pytest.raises(ValueError, match="jitter_ui must be given exactly when"):
        receiver.step(loop, np.zeros(10), receiver.start(loop, 0))
    loop = everything(jittered=False)
    with pytest.raises(ValueError, match="jitter_ui must be given exactly when"):
        receiver.step(loop, np.zeros(10), receiver.start(loop, 0), np.zeros(3))
    with pytest.raises(ValueError, match="first_sample must be 0 or more"):
        receiver.start(loop, -1.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("samples_per_symbol", 1.5),
        ("constellation", 4),
        ("taps", (1.0,)),
        ("timing_gains", (0.1,)),
        ("acquire_gains", (0.1,)),
        ("lost", 0.0),
        ("timing_bias", float("inf")),
        ("latency", -1),
        ("converter_step", -0.1),
        ("full_scale", float("nan")),
        ("detector", "early-late"),
        ("update", 0),
        ("mismatch", (0.1,)),
        ("stages", ()),
        ("stages", [Stage()]),
        ("feedback_limits", (1.0,)),
        ("tap_limit", 0.0),
        ("jittered", 1),
        ("paced", 1),
        ("noisy", 1),
        ("traced", 1),
    ],
)
def test_bad_values(field, value):
    with pytest.raises(ValueError, match=rf"ReceiverLoop\.{field} must be"):
        everything(**{field: value})
