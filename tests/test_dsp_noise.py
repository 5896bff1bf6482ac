import numpy as np
import pytest

from dsp.noise import Jitter, autocovariance, edge_jitter_autocovariance, fold, sampling_jitter_autocovariance

RATE = 50e9
T = 1 / RATE


def test_band_limited_white_noise():
    df = RATE / 256
    psd = np.full(129, 3e-17)
    r = autocovariance(psd, df, T, 65)
    assert r[0] == pytest.approx(3e-17 * RATE / 2)
    assert r[1:] == pytest.approx(0, abs=1e-12 * r[0])


def test_lorentzian_noise_decays_exponentially():
    corner = 5e9
    df = RATE / 512
    f = np.arange(512 * 400) * df
    r = autocovariance(1 / (1 + (f / corner) ** 2), df, T, 6)
    assert r == pytest.approx(corner * np.pi / 2 * np.exp(-2 * np.pi * corner * T * np.arange(6)), rel=3e-4)


def test_grids_that_fit_the_symbol_rate_and_others_agree():
    def psd(f):
        return np.exp(-((f / 20e9) ** 2)) * (1 + 0.5 * np.cos(2 * np.pi * f / 9e9))

    f1 = np.arange(3000) * RATE / 1000
    f2 = np.arange(2900) * RATE / 970.37
    r1, r2 = autocovariance(psd(f1), f1[1], T, 12), autocovariance(psd(f2), f2[1], T, 12)
    assert r2 == pytest.approx(r1, abs=1e-10 * r1[0])


def test_folding_keeps_variance_and_autocovariance():
    rng = np.random.default_rng(4)
    df = RATE / 64
    psd = rng.uniform(0.5, 1.5, (3, 901))
    folded = fold(psd, df, T)
    assert folded.shape == (3, 33)
    assert np.trapezoid(folded, dx=df) == pytest.approx(np.trapezoid(psd, dx=df))
    assert autocovariance(folded, df, T, 33) == pytest.approx(autocovariance(psd, df, T, 33))
    with pytest.raises(ValueError, match="even"):
        fold(psd, RATE / 63, T)
    with pytest.raises(ValueError, match="even"):
        fold(psd, RATE / 63.5, T)


def test_a_line_folds_to_its_alias():
    df = RATE / 64
    psd = np.zeros(400)
    psd[64 * 3 - 10] = 1.0
    assert np.flatnonzero(fold(psd, df, T)).tolist() == [10]


def test_lags_beyond_the_grid_are_refused():
    with pytest.raises(ValueError, match="n_lags"):
        autocovariance(np.ones(33), RATE / 64, T, 34)


@pytest.mark.parametrize(
    "call",
    [
        lambda: autocovariance(np.ones(9), 0, T, 1),
        lambda: autocovariance(np.ones(9), 1e9, 0, 1),
        lambda: autocovariance(np.ones(9), 1e9, T, 0),
        lambda: autocovariance(np.ones(1), 1e9, T, 1),
        lambda: fold(np.ones(9), 0, T),
        lambda: fold(np.ones(9), 1e9, -T),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError, match="must be"):
        call()


def test_jitter_variance():
    assert Jitter(random_ui=0.01, dual_dirac_ui=0.02).variance_ui2 == pytest.approx(5e-4)
    assert Jitter().variance_ui2 == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [("random_ui", -0.01), ("random_ui", 10), ("dual_dirac_ui", -0.01), ("dual_dirac_ui", None), ("correlation", 1.1)],
)
def test_bad_jitter(field, value):
    with pytest.raises(ValueError, match=f"Jitter.{field}"):
        Jitter(**{field: value})


JITTER = Jitter(random_ui=0.01, dual_dirac_ui=0.015)


def padded(g, n=64):
    return np.pad(np.asarray(g, float), (0, n - len(g)))


def slope_of_pulse(g):
    """h'(t - nT) = g(t - nT) - g(t - nT - T): one edge up, one edge down a symbol later."""
    return g - np.roll(g, 1)


def test_both_jitters_agree_where_edges_do_not_overlap():
    g = padded([0, 0, 0.8, 0, 0])
    edge, sampling = (
        edge_jitter_autocovariance(g, JITTER, 5 / 9),
        sampling_jitter_autocovariance(slope_of_pulse(g), JITTER, 5 / 9),
    )
    assert edge[0] == pytest.approx(sampling[0])


def test_dispersion_hides_sampling_jitter_but_not_edge_jitter():
    # A step that rises evenly over 20 symbols: the pulse is flat there, so only its two ends have a slope.
    g = padded(np.full(20, 0.05))
    edge, sampling = (
        edge_jitter_autocovariance(g, JITTER, 5 / 9),
        sampling_jitter_autocovariance(slope_of_pulse(g), JITTER, 5 / 9),
    )
    assert edge[0] / sampling[0] == pytest.approx(20)


def test_white_sampling_jitter_is_white_noise_and_white_edge_jitter_is_not():
    g = padded([0.2, 0.5, 0.3])
    assert np.allclose(sampling_jitter_autocovariance(slope_of_pulse(g), JITTER, 5 / 9)[1:], 0)
    assert edge_jitter_autocovariance(g, JITTER, 5 / 9)[1] > 0


def test_both_jitters_agree_when_all_edges_move_together():
    g = padded(np.random.default_rng(3).standard_normal(12))
    together = Jitter(random_ui=0.01, dual_dirac_ui=0.015, correlation=0.9999)
    edge = edge_jitter_autocovariance(g, together, 5 / 9)
    assert edge == pytest.approx(sampling_jitter_autocovariance(slope_of_pulse(g), together, 5 / 9), abs=2e-3 * edge[0])


@pytest.mark.parametrize("taps", [(1.0,), (-0.2, 0.8)])
@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_edge_jitter_of_a_random_waveform(correlation, taps):
    from scipy.signal import lfilter

    rng = np.random.default_rng(11)
    g = np.array([0.1, 0.5, 0.3, -0.1])
    n = 400_000
    sent = np.convolve(rng.choice([-1, -1 / 3, 1 / 3, 1], n), taps)[:n]
    moved = lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], rng.standard_normal(n))
    noise = np.convolve(0.02 * moved[1:] * np.diff(sent), g)
    expected = edge_jitter_autocovariance(padded(g), Jitter(random_ui=0.02, correlation=correlation), 5 / 9, taps)
    found = [np.mean(noise[: n - 10] * noise[k : n - 10 + k]) for k in range(4)]
    assert found == pytest.approx(expected[:4], abs=0.01 * expected[0])
