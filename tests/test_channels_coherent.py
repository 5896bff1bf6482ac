"""Amplified spans: noise, OSNR, Gaussian noise model, split step, polarisation, both faces."""

import dataclasses

import numpy as np
import pytest

from channels import nonlinear
from channels.amplifier import Edfa, combined_db, noise_density_of, osnr_from_snr, osnr_of, snr_from_osnr
from channels.coherent import CoherentChannel, Span, band_edge, load_noise
from channels.fiber import SingleModeFiber
from channels.nonlinear import Comb, nonlinear_noise, split_step, wavelength_of
from channels.polarization import Polarization, group_delay, rotation, turned
from dsp.dispersion import root_raised_cosine
from dsp.grid import Grid
from dsp.units import GBd, GHz, THz, from_db, from_db_power, km, mW, ps
from experiments.comparisons import coherent

CENTRE = wavelength_of(193.7 * THz)
RATE = 60 * GBd


def fiber(length):
    return SingleModeFiber(length=length, dispersion=16.7e-6, loss_db_per_km=0.2)


@pytest.mark.parametrize("case", coherent.GNPY)
def test_against_a_planning_tool(case):
    length, figure, rate, channels, spacing, spans, ase, interference, total = case
    line = coherent.planned(length * km, figure, rate * GBd, channels, spacing * GHz, spans)
    nonlinear_db = osnr_from_snr(line.nonlinear_snr_db(1 * mW, rate * GBd), rate * GBd)
    assert line.osnr_db(1 * mW) == pytest.approx(ase, abs=0.02)
    assert nonlinear_db == pytest.approx(interference, abs=0.15)
    assert combined_db(line.osnr_db(1 * mW), nonlinear_db) == pytest.approx(total, abs=0.25)


def test_nonlinear_noise_grows_with_the_cube_and_with_neighbours():
    one = Comb(symbol_rate=RATE)
    base = nonlinear_noise(fiber(80 * km), 1.3e-3, 1e-3, one, CENTRE)
    assert nonlinear_noise(fiber(80 * km), 1.3e-3, 2e-3, one, CENTRE) == pytest.approx(8 * base)
    assert nonlinear_noise(fiber(80 * km), 2.6e-3, 1e-3, one, CENTRE) == pytest.approx(4 * base)
    many = Comb(symbol_rate=RATE, channels=60)
    assert nonlinear_noise(fiber(80 * km), 1.3e-3, 1e-3, many, CENTRE) > 1.5 * base


def mixing(line, wavelength, spans=1, points=1500):
    """Interference of one channel of a flat spectrum at its centre [W at 1 mW], by quadrature of what the closed form stands for.

    16/27 gamma^2 G^3 of the mixing efficiency of all pairs of frequencies, of spans in step (P. Poggiolini, JLT 30, 2012).
    """
    f = (np.arange(points) + 0.5) * RATE / 2 / points
    x = 4 * np.pi**2 * abs(line.betas(wavelength)[0]) / line.length * f[:, None] * f
    alpha = line.loss_db(wavelength) / line.length * np.log(10) / 10
    efficiency = np.abs((1 - np.exp((1j * x - alpha) * line.length)) / (alpha - 1j * x)) ** 2
    in_step = np.abs(sum(np.exp(1j * k * x * line.length) for k in range(spans))) ** 2
    pairs = 2 * (1 + (f[:, None] + f <= RATE / 2))
    return 16 / 27 * 1.3e-3**2 * (1e-3 / RATE) ** 3 * RATE * np.sum(pairs * efficiency * in_step) * (RATE / 2 / points) ** 2


@pytest.mark.parametrize(("loss", "length"), [(0.2, 100), (0.2, 80), (0.2, 40), (0.2, 20), (0.05, 80), (0.0, 80)])
def test_closed_form_beside_its_integral_down_to_no_loss(loss, length):
    """1 / alpha in place of the asymptotic length would be 2.3 dB short at 20 km, 8 dB at 0.01 dB/km, and nothing without loss."""
    line = SingleModeFiber(length=length * km, dispersion=17e-6, loss_db_per_km=loss)
    closed = nonlinear_noise(line, 1.3e-3, 1e-3, Comb(symbol_rate=RATE), CENTRE)
    assert 10 * np.log10(closed / mixing(line, CENTRE)) == pytest.approx(0, abs=0.5)


def test_the_two_lengths_join_at_16_db():
    near, far = (
        nonlinear.asymptotic_length(SingleModeFiber(length=80 * km, loss_db_per_km=loss), CENTRE) for loss in (0.199999, 0.2)
    )
    assert near == pytest.approx(far, rel=1e-4)


@pytest.mark.parametrize(("loss", "length"), [(0.2, 100), (0.2, 80), (0.2, 40), (0.0, 80)])
def test_growth_of_spans_in_step_beside_its_integral(loss, length):
    line = SingleModeFiber(length=length * km, dispersion=17e-6, loss_db_per_km=loss)
    growth = np.log10(mixing(line, CENTRE, 10) / mixing(line, CENTRE)) - 1
    assert nonlinear.coherence(line, Comb(symbol_rate=RATE), CENTRE) == pytest.approx(growth, rel=0.26)


def test_no_model_without_dispersion():
    flat = SingleModeFiber(length=80 * km, dispersion=0.0)
    with pytest.raises(ValueError, match="dispersion"):
        nonlinear_noise(flat, 1.3e-3, 1e-3, Comb(symbol_rate=RATE), CENTRE)


def waveform(n, seed, power=1e-3):
    """Gaussian symbols, periodic, two samples a symbol."""
    rng = np.random.default_rng(seed)
    s = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))) / np.sqrt(2)
    f = np.fft.fftfreq(2 * n, 0.5 / RATE)
    x = np.fft.ifft(np.tile(np.fft.fft(s), 2) * root_raised_cosine(f, RATE, 0.1))
    return s, x * np.sqrt(power / np.mean(np.sum(np.abs(x) ** 2, axis=0)))


def test_split_step_against_the_gaussian_noise_model():
    """One channel over five spans: Gaussian symbols within half a decibel; 16QAM makes less interference."""
    gap = coherent.split_step_snr(gaussian=True) - coherent.closed_form()
    assert abs(gap) < 0.5
    assert 0.5 < coherent.split_step_snr(gaussian=False) - coherent.split_step_snr(gaussian=True) < 2


def test_split_step_without_kerr_is_the_fibre():
    _, x = waveform(512, 2)
    y = split_step(x, 2 * RATE, fiber(80 * km), 1e-12, CENTRE)
    f = np.fft.fftfreq(1024, 0.5 / RATE)
    line = fiber(80 * km)
    h = line.field_transfer(f, CENTRE) * np.exp(2j * np.pi * f * line.lead(CENTRE)) * from_db(-16)
    assert y == pytest.approx(np.fft.ifft(np.fft.fft(x) * h), abs=1e-9)


def test_split_step_turns_steady_light_by_its_power():
    power, length, gamma = 1e-3, 20 * km, 1.3e-3
    x = np.full((2, 64), np.sqrt(power / 2), complex)
    y = split_step(x, 2 * RATE, fiber(length), gamma, CENTRE, 0.001)
    alpha = 0.2 / 4.342944819 / 1e3
    effective = (1 - np.exp(-alpha * length)) / alpha
    assert np.angle(y[0, 0]) == pytest.approx(-8 / 9 * gamma * power * effective, rel=1e-6)
    assert np.abs(y) ** 2 == pytest.approx(np.full((2, 64), power / 2 * 10**-0.4))


def test_split_step_needs_room_for_its_band():
    rng = np.random.default_rng(3)
    with pytest.raises(ValueError, match="sample rate"):
        split_step(rng.standard_normal((2, 256)) + 0j, 2 * RATE, fiber(1 * km), 1.3e-3, CENTRE)


def test_steps_get_finer_and_agree():
    _, x = waveform(1024, 4, 4e-3)
    fine, coarse = (split_step(x, 2 * RATE, fiber(80 * km), 1.3e-3, CENTRE, step) for step in (0.005, 0.02))
    assert np.mean(np.abs(fine - coarse) ** 2) < 1e-4 * np.mean(np.abs(fine) ** 2)


def test_osnr_and_snr():
    assert snr_from_osnr(20.35, 59.84375 * GBd) == pytest.approx(13.55, abs=0.005)
    assert osnr_from_snr(snr_from_osnr(17.0, RATE), RATE) == pytest.approx(17)
    assert osnr_of(2e-3, noise_density_of(2e-3, 23.4)) == pytest.approx(23.4)
    assert combined_db(20, 20) == pytest.approx(20 - 10 * np.log10(2))
    assert combined_db(20, float("inf")) == pytest.approx(20)
    assert CoherentChannel().osnr_db(1e-3) == np.inf
    assert CoherentChannel().nonlinear_snr_db(1e-3, RATE) == np.inf


def test_osnr_of_one_span_is_58_plus_power_less_loss_and_figure():
    line = CoherentChannel(spans=(Span(fiber=fiber(100 * km), amplifier=Edfa(noise_figure_db=5)),))
    assert line.osnr_db(1e-3) == pytest.approx(58 - 20 - 5, abs=0.06)


def test_an_amplifier_without_gain_adds_nothing():
    nothing = Span(fiber=fiber(0.0), amplifier=Edfa())
    assert CoherentChannel(spans=(nothing,)).osnr_db(1e-3) == np.inf
    assert CoherentChannel(spans=(dataclasses.replace(nothing, amplifier=Edfa(gain_db=0.0)),)).osnr_db(1e-3) == np.inf
    assert CoherentChannel(spans=(dataclasses.replace(nothing, connector_loss_db=0.5),)).osnr_db(1e-3) < 60


def test_loading_makes_the_osnr():
    rng = np.random.default_rng(5)
    x = np.full((2, 200_000), 0.1 + 0j)
    noise = load_noise(x, 15, 2 * RATE, rng) - x
    density = np.mean(np.abs(noise) ** 2) / (2 * RATE)
    assert osnr_of(0.02, float(density)) == pytest.approx(15, abs=0.05)


def test_noise_of_spans_in_series():
    span = Span(fiber=fiber(80 * km), amplifier=Edfa(noise_figure_db=5))
    one, three = CoherentChannel(spans=(span,)), CoherentChannel(spans=(span,) * 3)
    assert three.noise_psd(np.zeros(2)) == pytest.approx(3 * one.noise_psd(np.zeros(2)), rel=1e-6, abs=0)
    assert one.net_db == 0
    assert CoherentChannel(spans=(Span(fiber=fiber(80 * km)),)).net_db == pytest.approx(-16)


def test_coherent_accumulation_is_for_one_channel():
    span = Span(fiber=fiber(80 * km), amplifier=Edfa())
    line = CoherentChannel(spans=(span,) * 10)
    assert line.nonlinear_snr_db(1e-3, RATE) < line.nonlinear_snr_db(1e-3, RATE, coherent=False) - 0.5
    comb = dataclasses.replace(line, comb=Comb(symbol_rate=RATE, channels=60))
    assert comb.nonlinear_snr_db(1e-3, RATE) == comb.nonlinear_snr_db(1e-3, RATE, coherent=False)


def test_polarisation_is_lossless_and_has_its_delay():
    rng = np.random.default_rng(6)
    f = np.linspace(-30e9, 30e9, 61)
    m = np.moveaxis(Polarization(dgd=7 * ps).matrices(f, rng), -1, 0)
    assert m @ np.conj(np.swapaxes(m, 1, 2)) == pytest.approx(np.broadcast_to(np.eye(2), m.shape), abs=1e-12)
    assert group_delay(np.moveaxis(m, 0, -1), f) == pytest.approx(np.full(60, 7 * ps), rel=1e-6, abs=0)


def along(spans, kerr=0.0, **polarization):
    """A line without loss or noise whose plates lie along its fibres."""
    span = Span(fiber=dataclasses.replace(fiber(20 * km), loss_db_per_km=0.0), kerr=kerr)
    return CoherentChannel(spans=(span,) * spans, wavelength=CENTRE, polarization=Polarization(**polarization))


@pytest.mark.parametrize("kerr", [0.0, 1e-12])
@pytest.mark.parametrize("plates", [1, 2, 7, 12])
def test_plates_along_the_fibre_are_the_plates_of_the_linear_face(kerr, plates):
    """Dispersion commutes with them: without Kerr effect it does not matter where they lie."""
    line = along(3, kerr, dgd=8 * ps, plates=plates, loss_db=1.0)
    _, x = waveform(512, 12)
    y = line.propagate(x, 2 * RATE, np.random.default_rng(13))
    f = np.fft.fftfreq(1024, 0.5 / RATE)
    whole = line.polarization.matrices(f, np.random.default_rng(13)) * line.transfer(f)
    assert y == pytest.approx(np.fft.ifft(np.einsum("ijf,jf->if", whole, np.fft.fft(x))), abs=1e-9)


def test_fibres_of_plates_are_maxwellian():
    """Mean over 400 fibres within three of its standard deviations; no other distribution fits as well as Maxwell's."""
    from scipy import stats

    line, n = along(2, dgd=5 * ps, plates=20), 16
    impulses = np.zeros((2, 2, n), complex)
    impulses[0, 0, 0] = impulses[1, 1, 0] = 1
    f = np.fft.fftfreq(n, 0.5 / RATE)
    seen = []
    for seed in range(400):
        columns = [np.fft.fft(line.propagate(x, 2 * RATE, np.random.default_rng(seed))) for x in impulses]
        seen.append(group_delay(np.stack(columns, axis=1)[..., :2], f[:2])[0])
    mean, spread = np.mean(seen), np.std(seen)
    assert abs(mean - 5 * ps) < 3 * spread / np.sqrt(400)
    assert stats.kstest(seen, stats.maxwell(scale=5 * ps * np.sqrt(np.pi / 8)).cdf).pvalue > 0.01
    assert (
        stats.kstest(seen, stats.norm(mean, spread).cdf).statistic
        > stats.kstest(seen, stats.maxwell(scale=mean * np.sqrt(np.pi / 8)).cdf).statistic
    )


def test_one_plate_is_a_delay_behind_the_line():
    line = along(2, 1.3e-3, dgd=8 * ps)
    _, x = waveform(512, 14, 10e-3)
    y = line.propagate(x, 2 * RATE, np.random.default_rng(15))
    f = np.fft.fftfreq(1024, 0.5 / RATE)
    turns = line.polarization.draw(np.random.default_rng(15))
    before = turns[0] @ x
    for span in line.spans:
        before = split_step(before, 2 * RATE, span.fiber, span.kerr, CENTRE)
    late = np.exp(-2j * np.pi * f * line.lead)
    assert y == pytest.approx(np.fft.ifft(line.polarization.plate(np.fft.fft(before), f, turns[1]) * late), abs=1e-9)


def test_interference_does_not_see_rotation_and_meets_part_of_the_delay():
    """The Manakov equation is the same in all polarisations. Delay along the line changes the interference, to first order in power."""
    f = np.fft.fftfreq(1024, 0.5 / RATE)

    def unturned(dgd, power):
        """Output without rotations and delays, as if they had been behind the line."""
        line = along(3, 1.3e-3, dgd=dgd, plates=6)
        _, x = waveform(512, 16, power)
        y = np.fft.fft(line.propagate(x, 2 * RATE, np.random.default_rng(17), 0.002))
        inverse = np.linalg.inv(np.moveaxis(line.polarization.matrices(f, np.random.default_rng(17)), -1, 0))
        late = np.exp(2j * np.pi * f * line.lead)
        return np.einsum("fij,jf->if", inverse, y * late) / np.sqrt(power)

    def change(dgd, power):
        still = CoherentChannel(spans=along(3, 1.3e-3).spans, wavelength=CENTRE)
        _, x = waveform(512, 16, power)
        for span in still.spans:
            x = split_step(x, 2 * RATE, span.fiber, span.kerr, CENTRE, 0.002)
        plain = np.fft.fft(x) / np.sqrt(power)
        return np.mean(np.abs(unturned(dgd, power) - plain) ** 2) / np.mean(np.abs(plain) ** 2)

    assert change(0.0, 4e-3) < 1e-7
    assert change(5 * ps, 4e-3) > 1e-4
    assert change(5 * ps, 4e-3) / change(5 * ps, 2e-3) == pytest.approx(4, rel=0.1)


def test_polarisation_dependent_loss_keeps_the_power():
    rng = np.random.default_rng(8)
    gains = np.linalg.svd(Polarization(loss_db=3).matrices(np.zeros(1), rng)[..., 0], compute_uv=False)
    assert 20 * np.log10(gains[0] / gains[1]) == pytest.approx(3)
    assert np.sum(gains**2) == pytest.approx(2)
    u = rotation(rng)
    assert u @ u.conj().T == pytest.approx(np.eye(2))


def test_a_turning_fibre_goes_round_at_its_speed():
    """A state comes back after 2 pi of the sphere, which is half a turn of the field; nothing is lost on the way."""
    rng = np.random.default_rng(11)
    axis = Polarization(turning=2 * np.pi * 1e6).axis(rng)
    x = rng.standard_normal((2, 1)) + 1j * rng.standard_normal((2, 1))
    x = np.repeat(x, 1001, axis=1)
    y = turned(x, axis, 1e9)
    assert np.sum(np.abs(y) ** 2, axis=0) == pytest.approx(np.sum(np.abs(x) ** 2, axis=0))
    stokes = np.array([2 * np.real(y[0] * np.conj(y[1])), 2 * np.imag(y[0] * np.conj(y[1])), abs(y[0]) ** 2 - abs(y[1]) ** 2])
    assert stokes[:, 1000] == pytest.approx(stokes[:, 0])
    assert y[:, 1000] == pytest.approx(-y[:, 0])
    assert np.linalg.norm(stokes[:, 500] - stokes[:, 0]) > 0.1
    assert turned(x[:, :400], axis, 1e9, first=600) == pytest.approx(y[:, 600:1000])


@pytest.mark.parametrize("turning", [0.0, 1e9])
def test_same_output_in_any_blocks(turning):
    line = CoherentChannel(
        spans=(Span(fiber=fiber(20 * km), amplifier=Edfa()),),
        polarization=Polarization(dgd=5 * ps, plates=3, turning=turning),
        wavelength=CENTRE,
    )
    grid = Grid(symbol_rate=RATE, samples_per_symbol=2, n_symbols=512)
    _, x = waveform(2048, 9)
    whole, _ = line.transmit(x, line.start(grid, np.random.default_rng(1)))
    state, pieces = line.start(grid, np.random.default_rng(1)), []
    for a, b in ((0, 7), (7, 1000), (1000, 1001), (1001, 4096)):
        y, state = line.transmit(x[:, a:b], state)
        pieces.append(y)
    assert np.concatenate(pieces, axis=1) == pytest.approx(whole, abs=1e-9)


def test_signal_face_has_the_transfer_of_the_linear_face():
    line = CoherentChannel(spans=(Span(fiber=fiber(20 * km)),), wavelength=CENTRE)
    grid = Grid(symbol_rate=RATE, samples_per_symbol=2, n_symbols=512)
    n = 4096
    f = 13 * 2 * RATE / n
    x = np.exp(2j * np.pi * f / (2 * RATE) * np.arange(n)) * np.array([[1.0], [0.0]])
    y, _ = line.transmit(x, line.start(grid, np.random.default_rng(2)))
    ratio = y[:, 3000] / x[0, 3000]
    assert np.linalg.norm(ratio) == pytest.approx(abs(line.transfer(np.array([f]))[0]), rel=1e-3)


def test_whole_record_and_blocks_are_one_channel_without_kerr():
    span = Span(fiber=fiber(20 * km), kerr=0.0, connector_loss_db=0.3)
    line = CoherentChannel(spans=(span,), wavelength=CENTRE, polarization=Polarization(dgd=3 * ps))
    grid = Grid(symbol_rate=RATE, samples_per_symbol=2, n_symbols=512)
    _, x = waveform(2048, 10)
    block, _ = line.transmit(x, line.start(grid, np.random.default_rng(3)))
    whole = line.propagate(x, 2 * RATE, np.random.default_rng(3))
    # Different fibres were drawn: what polarisation does not change is the power of each instant.
    ours, theirs = (np.mean(np.sum(np.abs(y[:, 1200:-100]) ** 2, axis=0)) for y in (block, whole))
    assert ours == pytest.approx(theirs, rel=0.02)


def test_memory_and_rng_are_asked_for():
    line = CoherentChannel(spans=(Span(fiber=fiber(80 * km)),))
    grid = Grid(symbol_rate=RATE, samples_per_symbol=2, n_symbols=64)
    with pytest.raises(ValueError, match="rng"):
        line.start(grid, None)
    with pytest.raises(ValueError, match="n_symbols must cover"):
        line.start(grid, np.random.default_rng(1))


def test_band_edge_is_flat_then_falls():
    assert band_edge(np.array([0.0, 0.42, 0.5, 0.6]), 1.0) == pytest.approx([1, 1, 0, 0])


SPAN = Span(fiber=fiber(1 * km))


@pytest.mark.parametrize(
    ("value", "field", "bad"),
    [
        (Edfa(), "noise_figure_db", 1.0),
        (Edfa(), "gain_db", -1.0),
        (Comb(symbol_rate=RATE), "symbol_rate", 60.0),
        (Comb(symbol_rate=RATE), "channels", 0),
        (Comb(symbol_rate=RATE, channels=2), "spacing", 50e9),
        (Polarization(), "dgd", 10.0),
        (Polarization(), "plates", 0),
        (Polarization(), "loss_db", -1.0),
        (Polarization(), "turning", -1.0),
        (SPAN, "fiber", None),
        (SPAN, "amplifier", 5.0),
        (SPAN, "connector_loss_db", -1.0),
        (SPAN, "kerr", 1.3),
        (CoherentChannel(), "spans", [SPAN]),
        (CoherentChannel(), "wavelength", 1550.0),
        (CoherentChannel(), "polarization", None),
        (CoherentChannel(), "comb", 5),
    ],
)
def test_bad_values_are_named(value, field, bad):
    with pytest.raises(ValueError, match=f"{type(value).__name__}.{field}"):
        dataclasses.replace(value, **{field: bad})


def test_bad_items_and_arguments():
    with pytest.raises(ValueError, match=r"spans\[0\]"):
        CoherentChannel(spans=(1,))
    with pytest.raises(ValueError, match="step_phase"):
        split_step(np.ones((2, 8), complex), RATE, fiber(1 * km), 1e-3, CENTRE, 2.0)
    with pytest.raises(ValueError, match="wavelength"):
        nonlinear.wavelength_of(1e12)
    with pytest.raises(ValueError, match="symbol_rate"):
        snr_from_osnr(20, 60)
    assert from_db_power(0) == 1
