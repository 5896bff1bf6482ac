import numpy as np
import pytest

from channels import quality
from channels.conditioning import bulk_delay
from channels.copper import Twinax
from channels.touchstone import read_touchstone

F = np.arange(0, 4001) * 10e6
CABLE = Twinax(length=1.0).s(F, 100.0)
DELAY = bulk_delay(F, CABLE[1, 0])


def noisy(level_db, seed=1):
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(2, F.size)) / 2**0.5
    return CABLE[1, 0] + 10 ** (level_db / 20) * (parts[0] + 1j * parts[1])


@pytest.mark.parametrize("level_db", [-40, -60, -80, -100])
def test_the_floor_is_the_noise_that_was_added(level_db):
    found = quality.noise_floor(F, noisy(level_db), DELAY)
    assert 20 * np.log10(found.floor) == pytest.approx(level_db, abs=1)


def test_a_signal_in_the_noise_is_told_with_the_frequency_it_goes_under():
    f = np.arange(0, 6001) * 20e6
    long = Twinax(length=5.0).s(f, 100.0)[1, 0]
    level = 10 ** (-45 / 20)
    rng = np.random.default_rng(3)
    dirty = long + level * (rng.normal(size=f.size) + 1j * rng.normal(size=f.size)) / 2**0.5
    found = quality.noise_floor(f, dirty, bulk_delay(f, long))
    expected = f[np.argmax(np.abs(long) < 10**0.5 * level)]
    assert found.clear_to == pytest.approx(expected, rel=0.1)
    (finding,) = quality.noise_findings(f, found)
    assert finding.code == "noise-floor"
    assert "GHz" in finding.message


def test_clean_data_have_no_finding_and_coarse_ones_no_floor():
    clean = quality.noise_floor(F, CABLE[1, 0], DELAY)
    assert clean.floor < 1e-7
    assert quality.noise_findings(F, clean) == ()
    assert quality.noise_floor(F[:100], CABLE[1, 0, :100], DELAY) is None
    uneven = F**1.01
    assert quality.noise_floor(uneven, CABLE[1, 0], DELAY) is None
    wild = np.exp(2j * np.pi * np.random.default_rng(2).uniform(size=F.size))
    assert quality.noise_floor(F, wild, 0.0) is None
    assert quality.noise_findings(F, None) == ()


def high_pass(f, corner):
    return 1j * f / (1j * f + corner)


@pytest.mark.parametrize("corner", [30e6, 100e6, 400e6])
def test_the_corner_of_a_dc_block_and_its_droop(corner):
    found = quality.dc_block(F, CABLE[1, 0] * high_pass(F, corner), DELAY)
    assert found.corner == pytest.approx(corner, rel=0.15)
    # after one time constant a step through a high pass has fallen to 1/e
    assert found.wander(1 / (2 * np.pi * found.corner)) == pytest.approx(1 - np.exp(-1))
    assert found.wander(0.0) == 0.0
    (finding,) = quality.block_findings(F, found)
    assert finding.code == "ac-coupled"
    assert "baseline wander" in finding.message


def test_an_exact_high_pass_has_its_exact_corner():
    h = high_pass(F, 50e6) * np.exp(-2j * np.pi * F * 1e-9)
    assert quality.dc_block(F, h, 1e-9).corner == pytest.approx(50e6, rel=1e-9)


def test_a_block_whose_corner_the_data_miss_is_told_without_a_number():
    h = CABLE[1, 0] * high_pass(F, 1e5)
    found = quality.dc_block(F, h, DELAY)
    assert (found.corner, found.droop_time, found.wander(1e-9)) == (None, None, None)
    assert "unknown" in quality.block_findings(F, found)[0].message


def test_what_is_no_dc_block():
    assert quality.dc_block(F, CABLE[1, 0], DELAY) is None
    assert quality.dc_block(F[1:], CABLE[1, 0, 1:], DELAY) is None
    crosstalk = 0.02 * CABLE[1, 0] * 1j * F / F[-1]
    assert quality.dc_block(F, crosstalk, DELAY) is None
    assert quality.block_findings(F, None) == ()


def residual(f, h, delay=DELAY):
    return quality.kramers_kronig(f, h, delay, quality.noise_floor(f, h, delay))


def test_kramers_kronig_passes_copper_and_finds_a_constant_loss_tangent():
    assert residual(F, CABLE[1, 0]).value < 1e-3
    assert quality.kramers_kronig_findings(residual(F, CABLE[1, 0])) == ()
    only_loss = np.exp(-1e-11 * F - 2j * np.pi * F * 1e-9)
    found = residual(F, only_loss, 1e-9)
    (finding,) = quality.kramers_kronig_findings(found)
    assert finding.code == "kramers-kronig"
    assert "GHz" in found.basis


@pytest.mark.parametrize(
    ("f", "h", "delay", "why"),
    [
        (F[30:], CABLE[1, 0, 30:], DELAY, "30 steps"),
        (F, CABLE[1, 0] * high_pass(F, 1e9), DELAY, "through path"),
        (F, 0.01 * CABLE[1, 0], DELAY, "through path"),
        (F, CABLE[1, 0] * np.exp(-2j * np.pi * F * 40e-9), DELAY + 40e-9, "echoes"),
        (F**1.01, CABLE[1, 0], DELAY, "uniform"),
    ],
)
def test_kramers_kronig_says_why_it_cannot_tell(f, h, delay, why):
    found = residual(f, h, delay)
    assert found.value is None
    assert why in found.basis
    assert quality.kramers_kronig_findings(found) == ()


def test_noise_does_not_pass_for_a_phase():
    found = residual(F, noisy(-70))
    assert found.value is None or found.value < 0.01


def test_simulations_with_a_constant_loss_tangent_are_found_among_real_channels(channels_dir):
    data = read_touchstone(channels_dir / "synthetic_224g" / "synth224_300mm_thru.s4p")
    s21 = data.s[1, 0]
    delay = bulk_delay(data.frequency, s21)
    assert residual(data.frequency, s21, delay).value < 1e-4


def test_ieee_370_figures_of_good_and_of_broken_data():
    f, s = F[1::2], CABLE[:, :, 1::2]
    good = quality.ieee370(f, s, (100.0, 100.0))
    assert (good.passivity, good.reciprocity) == (100.0, pytest.approx(100.0, abs=1e-3))
    assert good.causality > 80
    assert good.causality_error is None
    backwards = quality.ieee370(f, s.conj(), (100.0, 100.0))
    assert backwards.causality < 20
    assert quality.ieee370(f, 1.2 * s, (100.0, 100.0)).passivity < 99
    skew = s.copy()
    skew[0, 1] *= 0.5
    assert quality.ieee370(f, skew, (100.0, 100.0)).reciprocity < 99


def test_ieee_370_application_figures_of_a_causal_cable():
    f = np.arange(0, 201) * 100e6
    short = Twinax(length=0.1).s(f, 100.0)
    found = quality.ieee370(f, short, (100.0, 100.0), symbol_rate=5e9)
    assert found.passivity_error == found.reciprocity_error == 0.0
    assert 0 <= found.causality_error < 1e-3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"s": np.zeros((4, 4, F.size))}, "ieee370.s"),
        ({"symbol_rate": 53.125}, "GBd"),
        ({"symbol_rate": 53.125e9}, "ieee370.symbol_rate"),
        ({"f": F**1.01, "symbol_rate": 5e9}, "ieee370.f"),
        ({"f": F**1.01}, r"ieee370\.f must be a uniform grid .*steps from"),
    ],
)
def test_ieee_370_refuses_what_it_cannot_judge(change, field):
    sparse = {"f": F[::40], "s": CABLE[:, :, ::40], "reference": (100.0, 100.0)}
    change = {key: value[..., ::40] if np.ndim(value) else value for key, value in change.items()}
    with pytest.raises(ValueError, match=field):
        quality.ieee370(**{**sparse, **change})
