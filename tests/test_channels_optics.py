"""Devices of intensity-modulated optics: closed forms, limits, both faces of each."""

from dataclasses import replace

import numpy as np
import pytest

from channels.channel import Cascade
from channels.fiber import OM4, SPEED_OF_LIGHT, MultimodeFiber, SingleModeFiber, dispersion_null
from channels.host import HostLoss
from channels.imdd import ImddChannel, Predistortion, flattened, without_noise
from channels.lasers import Laser
from channels.modulators import Eml, Mzm
from channels.multipath import Multipath, of_connectors, penalty_bound_db, penalty_quantile_db
from channels.optical_path import Detection, Photodiode
from channels.stages import Amplifier
from channels.vcsel import CHARGE, Vcsel
from dsp import kernels
from dsp.grid import Grid
from dsp.units import GHz, km, nm, ps
from serdes import serialize

GRID = Grid(symbol_rate=106.25e9, samples_per_symbol=8, n_symbols=1024)
C_BAND = Laser(power=2e-3, wavelength=1550 * nm)
QUIET = {"driver": Amplifier(), "photodiode": Photodiode(shot=False), "tia": Amplifier()}


def impulse(channel, grid=GRID, size=1e-3):
    """Response of the signal face to a small sample, as a spectrum."""
    x = np.zeros(grid.n)
    x[16] = size
    y, _ = channel.transmit(x, channel.start(grid, None))
    return np.fft.rfft(y) / size * np.exp(2j * np.pi * grid.f * 16 * grid.dt)


@pytest.mark.parametrize(("chirp", "length", "null"), [(0, 1, 60.6), (0, 2, 42.8), (1, 1, 42.8), (-0.7, 1, 71.4)])
def test_nulls_of_dispersion_where_the_textbook_has_them(chirp, length, null):
    """1550 nm, 17 ps/nm/km, by the waveform itself."""
    fiber = SingleModeFiber(length=length * km, dispersion=17 * ps / nm / km)
    channel = ImddChannel(source=Mzm(laser=C_BAND, chirp_parameter=chirp, extinction_db=100), fiber=fiber, **QUIET)
    seen = np.abs(impulse(channel))
    near = np.abs(GRID.f / GHz - null) < 4
    found = GRID.f[near][np.argmin(seen[near])] / GHz
    assert found == pytest.approx(null, rel=0.005)
    linear = channel.transfer(GRID.f)
    band = GRID.f < 150 * GHz
    assert np.max(np.abs(np.abs(linear) - seen)[band]) < 2e-3 * np.max(np.abs(linear))


def test_the_null_has_its_length():
    """First null at Nyquist after 5.20 km (53.125 GBd) and 1.30 km (106.25 GBd) of 17 ps/nm/km at 1550 nm."""
    fiber = SingleModeFiber(length=1.0, dispersion=17 * ps / nm / km)
    assert dispersion_null(fiber, 1550 * nm, 53.125 / 2 * GHz) == pytest.approx(5.20 * km, rel=2e-3)
    assert dispersion_null(fiber, 1550 * nm, 53.125 * GHz) == pytest.approx(1.30 * km, rel=2e-3)
    assert dispersion_null(SingleModeFiber(length=1.0), 1310 * nm, 50 * GHz) == np.inf


def test_positive_chirp_loses_where_dispersion_is_anomalous():
    fiber = SingleModeFiber(length=1 * km, dispersion=17 * ps / nm / km)
    f = np.array([20 * GHz])
    up, none, down = (abs(fiber.intensity_transfer(f, 1550 * nm, a)[0]) for a in (1.0, 0.0, -1.0))
    assert up < none < down


def test_dispersion_of_the_standard_windows():
    """Worst cases over 1300 to 1324 nm of zero dispersion."""
    near, far = (SingleModeFiber(length=1.0, zero_dispersion=z * nm) for z in (1300, 1324))
    unit = ps / nm / km
    assert far.dispersion_at(1264.5 * nm) / unit == pytest.approx(-5.87, abs=0.01)
    assert far.dispersion_at(1304.5 * nm) / unit == pytest.approx(-1.83, abs=0.01)
    assert near.dispersion_at(1317.5 * nm) / unit == pytest.approx(1.58, abs=0.01)
    assert near.dispersion_at(1337.5 * nm) / unit == pytest.approx(3.31, abs=0.01)
    assert MultimodeFiber(length=1.0).dispersion_at(850 * nm) / unit == pytest.approx(-104, abs=1)


def test_no_fibre_and_fibre_of_no_dispersion_are_alike():
    bare = ImddChannel(source=Mzm(laser=C_BAND), **QUIET)
    flat = replace(bare, fiber=SingleModeFiber(length=1.0, dispersion=0.0, slope=0.0, loss_db_per_km=0.0))
    inside = GRID.f < 300 * GHz
    assert np.abs(impulse(bare))[inside] == pytest.approx(np.abs(impulse(flat))[inside], rel=2e-3)


def test_loss_takes_its_decibels_from_the_power():
    fiber = SingleModeFiber(length=10 * km)
    near = ImddChannel(source=Mzm())
    far = replace(near, fiber=fiber, loss_db=1.5)
    drop = 10 * np.log10(near.received_power(np.zeros(1)) / far.received_power(np.zeros(1)))
    assert drop == pytest.approx(1.5 + 3.5)
    assert far.launch_power(np.zeros(1)) == pytest.approx(near.received_power(np.zeros(1)))


def test_differential_group_delay_has_its_null():
    fiber = SingleModeFiber(length=1.0, dgd=10 * ps)
    assert abs(fiber.power_transfer(np.array([50 * GHz]))[0]) == pytest.approx(0, abs=1e-12)
    assert abs(fiber.power_transfer(np.zeros(1))[0]) == 1


def test_multimode_bandwidth_is_where_half_the_power_is_left():
    fiber = MultimodeFiber(length=100.0, modal_bandwidth=OM4, spectral_width=0.0)
    assert abs(fiber.power_transfer(np.array([47 * GHz]), 850 * nm)[0]) == pytest.approx(0.5)
    wide = replace(fiber, spectral_width=0.6 * nm)
    assert abs(wide.power_transfer(np.array([20 * GHz]), 850 * nm)[0]) < abs(
        fiber.power_transfer(np.array([20 * GHz]), 850 * nm)[0]
    )
    assert fiber.partition_rms(850 * nm) == 0
    assert 0 < replace(wide, partition=0.5).partition_rms(850 * nm) < 0.5


def test_modulator_at_quadrature():
    mzm = Mzm(laser=Laser(power=4e-3), v_pi=2.0, extinction_db=100)
    v = np.array([-1.0, 0.0, 1.0])
    assert mzm.power(v) == pytest.approx(np.array([0, 2e-3, 4e-3]), abs=1e-7)
    assert mzm.slope() == pytest.approx(np.pi / 2 * 2e-3, rel=1e-4)
    assert mzm.power(mzm.drive_for(np.array([1e-3, 3e-3]))) == pytest.approx([1e-3, 3e-3])
    finite = replace(mzm, extinction_db=20)
    low, high = finite.extremes
    assert high / low == pytest.approx(100)
    assert finite.power(np.array([-1.0, 1.0])) == pytest.approx([low, high])


@pytest.mark.parametrize("source", [Mzm(chirp_parameter=0.8), Eml(), Eml(chirp_coefficients=(1.5, -0.8))], ids=repr)
def test_power_is_the_square_of_the_field(source):
    v = np.linspace(-0.8, 0.8, 33)
    assert np.abs(source.field(v)) ** 2 == pytest.approx(source.power(v))
    assert source.power(source.drive_for(source.power(v))) == pytest.approx(source.power(v), rel=1e-6)


def test_chirp_is_what_was_asked_for():
    assert Mzm(chirp_parameter=0.8, extinction_db=100).chirp() == pytest.approx(0.8, rel=1e-4)
    eml = Eml(chirp_coefficients=(1.5, -0.8), bias=1.25)
    assert eml.chirp(0.0) == pytest.approx(1.5 - 0.8 * 1.25, rel=1e-4)
    assert eml.chirp(0.5) == pytest.approx(1.5 - 0.8 * 0.75, rel=1e-4)


def test_predistortion_makes_power_linear():
    channel = ImddChannel(predistortion=Predistortion(full_scale=0.5, extinction_db=5.0), **QUIET)
    powers = channel.received_power(0.5 * np.array([-1, -1 / 3, 1 / 3, 1]))
    assert np.diff(powers) == pytest.approx(np.full(3, np.diff(powers)[0]))
    assert 10 * np.log10(powers[3] / powers[0]) == pytest.approx(5.0)


def test_vcsel_faces_agree_and_rest_where_the_current_says():
    source = Vcsel()
    channel = ImddChannel(source=source, fiber=MultimodeFiber(length=50.0), **QUIET).silent()
    grid = Grid(symbol_rate=53.125e9, samples_per_symbol=8, n_symbols=1024)
    linear, seen = channel.transfer(grid.f), impulse(channel, grid)
    band = grid.f < 50 * GHz
    assert np.max(np.abs(linear - seen)[band]) < 0.02 * abs(linear[0])
    power, _ = source.evolve(np.full(400, source.bias), 2e-12, source.rest())
    assert power == pytest.approx(np.full(400, float(source.power(np.zeros(())))), rel=1e-4)
    assert 15 * GHz < source.resonance < 30 * GHz
    slope_efficiency = float(np.diff(source.power(np.array([0.0, 0.07])))[0] / 1e-3)
    photon = 6.626e-34 * 2.998e8 / 850e-9
    assert slope_efficiency == pytest.approx(source.injection * source.coupling * photon / CHARGE, rel=0.02)


def test_rate_equations_compiled_and_plain():
    current = 7e-3 + 1e-3 * np.sin(np.arange(20))
    p = np.array([5e36, 4e8, 5e11, 1.3e-11, 2e24, 3e-23, 0.045, 1e-4])
    state = np.array([3e24, 3e21, 7e-3])
    for a, b in zip(
        kernels.rate_equations(current, 8, 0.3e-12, state, p),
        kernels.rate_equations.py_func(current, 8, 0.3e-12, state, p),
        strict=True,
    ):
        assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("shape", ["bessel4", "butterworth4", "gaussian"])
def test_amplifier_bandwidth_is_3_db(shape):
    h = Amplifier(gain=2.0, bandwidth=40 * GHz, shape=shape).transfer(np.array([0.0, 40 * GHz]))
    assert np.abs(h) == pytest.approx([2, np.sqrt(2)], rel=1e-4)


def test_two_poles_peak():
    f = np.linspace(0, 60, 601) * GHz
    assert np.max(np.abs(Amplifier(bandwidth=40 * GHz, shape="two-pole", quality=1.5).transfer(f))) > 1.5
    assert np.max(np.abs(Amplifier(bandwidth=40 * GHz, shape="two-pole").transfer(f))) <= 1 + 1e-4


def test_saturation_limits_and_keeps_small_signals():
    amplifier = Amplifier(gain=10.0, saturation=0.5)
    assert amplifier.static(np.array([1e-5, 10.0])) == pytest.approx([1e-4, 0.5], rel=1e-3)


BLOCKY = {
    "amplifier": Amplifier(gain=3.0, bandwidth=40 * GHz, noise_density=1e-17, saturation=0.4),
    "modulator": ImddChannel(source=Mzm(laser=Laser(rin_db=-140)), predistortion=Predistortion(full_scale=0.6)),
    "dispersive, with echoes": ImddChannel(
        source=Eml(laser=Laser(rin_db=-140, linewidth=1e6)), fiber=SingleModeFiber(length=2 * km, dgd=2 * ps),
        multipath=Multipath(levels_db=(-40.0, -45.0), delays=(1e-9, 2.5e-9)), photodiode=Photodiode(bandwidth=60 * GHz),
    ),
    "multimode": ImddChannel(source=Vcsel(), fiber=MultimodeFiber(length=80.0, partition=0.3)),
    "module between hosts": Cascade(
        parts=(HostLoss(loss_db=8, frequency=53e9), ImddChannel(), HostLoss(loss_db=8, frequency=53e9))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKY)
def test_any_division_into_blocks_gives_the_same(name):
    channel = BLOCKY[name]
    x = 0.4 * np.sin(np.arange(4000) * 0.31) * np.sign(np.sin(np.arange(4000) * 0.05))
    whole, _ = channel.transmit(x, channel.start(GRID, np.random.default_rng(4)))
    state, pieces = channel.start(GRID, np.random.default_rng(4)), []
    for piece in np.split(x, [1, 8, 300, 2300]):
        y, state = channel.transmit(piece, state)
        pieces.append(y)
    assert np.concatenate(pieces) == pytest.approx(whole, rel=0, abs=1e-9 * np.std(whole))


@pytest.mark.parametrize("name", BLOCKY)
def test_what_makes_noise_wants_an_rng_and_can_be_silenced(name):
    channel = BLOCKY[name]
    with pytest.raises(ValueError, match="rng"):
        channel.start(GRID, None)
    quiet = Cascade(parts=tuple(without_noise(piece) for piece in flattened(channel)))
    assert not np.any(quiet.noise_psd(GRID.f))
    quiet.start(GRID, None)


def test_noise_follows_the_power():
    channel = ImddChannel(source=Mzm(laser=Laser(rin_db=-135), extinction_db=100))
    f = np.array([1 * GHz])
    dark, mean, bright = (channel.noise_psd(f, d)[0] for d in (-1.0, 0.0, 1.0))
    assert dark < mean < bright
    assert channel.noise_psd(f)[0] == pytest.approx(mean, rel=1e-6, abs=0)
    detection = channel.detection
    causes = detection.causes(np.array(2e-3))
    assert causes["RIN"] == pytest.approx(10**-13.5 * (0.8 * 2e-3) ** 2, rel=1e-6, abs=0)
    assert causes["shot"] == pytest.approx(2 * CHARGE * (1.6e-3 + 1e-8), rel=1e-6, abs=0)
    # the textbook's number for 1 mA: 17.9 pA in 1 Hz
    lit = Detection(photodiode=Photodiode(responsivity=1.0, dark_current=0.0), rest=1e-3)
    assert np.sqrt(lit.causes(np.array(1e-3))["shot"]) == pytest.approx(17.9e-12, rel=1e-3, abs=0)
    assert detection.density(np.array(2e-3)) == pytest.approx(sum(causes.values()), rel=1e-6, abs=0)


@pytest.mark.parametrize("drive", [-0.6, 0.0, 0.6])
def test_noise_has_the_density_that_is_stated(drive):
    channel = ImddChannel(
        source=Mzm(laser=Laser(rin_db=-132)), tia=Amplifier(gain=1e3, bandwidth=60 * GHz, noise_density=1e-22)
    )
    y, _ = channel.transmit(np.full(200_000, drive), channel.start(GRID, np.random.default_rng(3)))
    stated = np.sum(channel.noise_psd(GRID.f, drive)) * GRID.df
    assert np.var(y[2000:]) == pytest.approx(stated, rel=0.02)


def test_echoes_are_bounded_and_rarely_at_the_bound():
    paths = of_connectors((-35.0, -35.0, -35.0, -35.0), (0.5, 0.5, 0.5))
    assert len(paths.levels_db) == 6
    assert paths.levels_db[0] == pytest.approx(-71.0)
    total = np.sum(paths.amplitudes)
    bound = penalty_bound_db(paths, 5.0)
    ratio = 10**0.5
    assert bound == pytest.approx(-10 * np.log10(1 - 12 * total * ratio / (ratio - 1)))
    assert 0 < penalty_quantile_db(paths, 5.0, np.random.default_rng(2)) < bound
    assert penalty_bound_db(Multipath(levels_db=(-20.0,), delays=(1e-9,)), 5.0) == np.inf
    f = np.linspace(0, 4000 * GHz, 2_000_001)
    assert np.trapezoid(paths.beat_density(f), f) == pytest.approx(2 * np.sum(paths.amplitudes**2), rel=1e-3)


def test_phase_noise_beats_with_echoes():
    laser = Laser(linewidth=3e9)  # wide, so that a short run sees all phases
    channel = ImddChannel(source=Mzm(laser=laser), multipath=Multipath(levels_db=(-26.0,), delays=(3e-9,)), **QUIET)
    y, _ = channel.transmit(np.zeros(400_000), channel.start(GRID, np.random.default_rng(8)))
    power = float(channel.received_power(np.zeros(())))
    variance = np.var(y[4000:]) / (0.8 * power) ** 2
    assert variance == pytest.approx(2 * 10**-2.6, rel=0.25)


def test_slope_of_dispersion_is_its_derivative():
    """beta3 is what beta2 changes by with angular frequency; 0.13 ps^3/km for G.652 at 1550 nm (17 ps/nm/km, 0.058 ps/nm^2/km)."""
    fiber = SingleModeFiber(length=1 * km)
    for wavelength in (1290 * nm, 1310 * nm, 1550 * nm):
        ends = (1 - 1e-4) * wavelength, (1 + 1e-4) * wavelength
        change = fiber.betas(ends[0])[0] - fiber.betas(ends[1])[0]
        w = [2 * np.pi * SPEED_OF_LIGHT / end for end in ends]
        assert fiber.betas(wavelength)[1] == pytest.approx(change / (w[0] - w[1]), rel=1e-5, abs=0)
    assert fiber.betas(1550 * nm)[1] == pytest.approx(0.13e-36, rel=0.05, abs=0)


def test_partition_noise_of_modes_one_by_one():
    """Modes that arrive spread, each read off a pulse cos(pi B t), share out the power at random (G. P. Agrawal et al., JLT 6, 1988)."""
    fiber = MultimodeFiber(length=100.0, partition=0.7)
    wavelength = 850 * nm
    points, weights = np.polynomial.hermite_e.hermegauss(41)
    late = fiber.spread(wavelength) * points
    seen, weights = np.cos(np.pi * fiber.partition_rate * late), weights / weights.sum()
    rms = np.sqrt(weights @ seen**2 - (weights @ seen) ** 2)
    assert rms > 0.05
    assert fiber.partition_rms(wavelength) == pytest.approx(0.7 * rms, rel=1e-6)


def test_overload_is_named():
    channel = ImddChannel(source=Mzm(laser=Laser(power=50e-3)))
    assert "limit of 5 mW" in channel.overload(1.0)
    assert ImddChannel(source=Mzm(laser=Laser(power=1e-3))).overload(1.0) == ""


def test_host_loss_is_its_number_and_causal():
    line = HostLoss(loss_db=16, frequency=53e9)
    assert 20 * np.log10(abs(line.transfer(np.array([53e9]))[0])) == pytest.approx(-16)
    grid = Grid(symbol_rate=106.25e9, samples_per_symbol=8, n_symbols=2048)
    h = np.fft.irfft(line.transfer(grid.f) * np.exp(-((grid.f / 150e9) ** 2)), grid.n)
    arrival = int(1e-9 / grid.dt)
    assert np.sum(h[: arrival - 24] ** 2) < 1e-4 * np.sum(h**2)


def test_a_wavelength_outside_the_model_is_refused():
    with pytest.raises(ValueError, match="1260 to 1675 nm"):
        ImddChannel(source=Mzm(laser=Laser(wavelength=850 * nm)), fiber=SingleModeFiber(length=100.0))
    with pytest.raises(ValueError, match="840 to 953 nm"):
        ImddChannel(source=Mzm(), fiber=MultimodeFiber(length=100.0))


def test_optics_travel_as_records():
    link_channel = BLOCKY["dispersive, with echoes"]
    assert serialize.from_dict(serialize.to_dict(link_channel), ImddChannel) == link_channel
    assert serialize.from_dict(serialize.to_dict(ImddChannel(source=Vcsel())), ImddChannel) == ImddChannel(source=Vcsel())


BAD = [
    (Laser, {"power": 0.0}), (Laser, {"wavelength": 1310.0}), (Laser, {"rin_db": -20.0}), (Laser, {"linewidth": -1.0}),
    (Mzm, {"laser": None}), (Mzm, {"v_pi": 0.0}), (Mzm, {"extinction_db": 0.0}), (Mzm, {"chirp_parameter": np.nan}),
    (Mzm, {"insertion_loss_db": -1.0}), (Mzm, {"bandwidth": 40.0}),
    (Eml, {"laser": 1}), (Eml, {"bias": 9.0}), (Eml, {"absorption_db": (1.0,)}), (Eml, {"absorption_db": (1.0, -5.0, 0.0)}),
    (Eml, {"chirp_coefficients": (1.0,)}), (Eml, {"largest": 0.0}), (Eml, {"insertion_loss_db": -1.0}), (Eml, {"bandwidth": 1.0}),
    (Vcsel, {"laser": 0}), (Vcsel, {"bias": 7.0}), (Vcsel, {"resistance": 0.0}), (Vcsel, {"parasitic": 28.0}),
    (Vcsel, {"injection": 2.0}), (Vcsel, {"volume": 1.0}), (Vcsel, {"carrier_lifetime": 1.0}), (Vcsel, {"photon_lifetime": 1.0}),
    (Vcsel, {"gain": 1.0}), (Vcsel, {"transparency": 1.0}), (Vcsel, {"compression": -1.0}), (Vcsel, {"confinement": 0.0}),
    (Vcsel, {"spontaneous": 0.0}), (Vcsel, {"coupling": 0.0}),
    (SingleModeFiber, {"length": -1.0}), (SingleModeFiber, {"length": 1.0, "zero_dispersion": 1310.0}),
    (SingleModeFiber, {"length": 1.0, "slope": -1.0}), (SingleModeFiber, {"length": 1.0, "dispersion": 17.0}),
    (SingleModeFiber, {"length": 1.0, "loss_db_per_km": -1.0}), (SingleModeFiber, {"length": 1.0, "dgd": 1.0}),
    (MultimodeFiber, {"length": 1e9}), (MultimodeFiber, {"length": 1.0, "modal_bandwidth": 4700.0}),
    (MultimodeFiber, {"length": 1.0, "spectral_width": 0.6}), (MultimodeFiber, {"length": 1.0, "zero_dispersion": 1.0}),
    (MultimodeFiber, {"length": 1.0, "slope": -1.0}), (MultimodeFiber, {"length": 1.0, "loss_db_per_km": -1.0}),
    (MultimodeFiber, {"length": 1.0, "partition": 2.0}), (MultimodeFiber, {"length": 1.0, "partition_rate": 53.0}),
    (Multipath, {"delays": (), "levels_db": ()}), (Multipath, {"delays": (0.0,), "levels_db": (0.0,)}),
    (Multipath, {"levels_db": (-40.0,), "delays": (1.0,)}), (Multipath, {"levels_db": (-40.0,), "delays": (0.0, 0.0)}),
    (Multipath, {"levels_db": (-40.0,), "delays": (0.0,), "beat_bandwidth": 0.0}),
    (Photodiode, {"responsivity": 0.0}), (Photodiode, {"dark_current": 1.0}), (Photodiode, {"bandwidth": 60.0}),
    (Photodiode, {"max_power": 5.0}), (Photodiode, {"shot": 1}),
    (Amplifier, {"gain": 0.0}), (Amplifier, {"bandwidth": 40.0}), (Amplifier, {"shape": "brick"}), (Amplifier, {"quality": 0.0}),
    (Amplifier, {"noise_density": 18.0}), (Amplifier, {"saturation": 0.0}),
    (Predistortion, {"full_scale": 0.0}), (Predistortion, {"full_scale": 1.0, "extinction_db": 0.0}),
    (ImddChannel, {"source": None}), (ImddChannel, {"driver": None}), (ImddChannel, {"predistortion": 1}), (ImddChannel, {"fiber": 1}),
    (ImddChannel, {"multipath": 1}), (ImddChannel, {"loss_db": -1.0}), (ImddChannel, {"photodiode": None}), (ImddChannel, {"tia": None}),
    (HostLoss, {"frequency": 1e10, "loss_db": -1.0}), (HostLoss, {"loss_db": 1.0, "frequency": 53.0}),
    (HostLoss, {"loss_db": 1.0, "frequency": 1e10, "skin": 2.0}), (HostLoss, {"loss_db": 1.0, "frequency": 1e10, "delay": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "arguments"), BAD, ids=lambda v: getattr(v, "__name__", str(v)))
def test_wrong_values_are_named(cls, arguments):
    with pytest.raises(ValueError, match=list(arguments)[-1]):
        cls(**arguments)


def test_memory_too_short_for_the_spread_is_an_error():
    short = Grid(symbol_rate=106.25e9, samples_per_symbol=8, n_symbols=32)
    channel = ImddChannel(source=Mzm(laser=C_BAND), fiber=SingleModeFiber(length=40 * km, dispersion=17e-6), **QUIET)
    with pytest.raises(ValueError, match="longer than the memory"):
        channel.start(short, None)


def test_modes_share_out_what_is_modulated():
    """Steady light has no mode partition noise; twice the swing has four times the noise."""
    detection = Detection(photodiode=Photodiode(shot=False), rest=1e-3, partition=1e-14, pedestal=0.5e-3)
    none, once, twice = (float(detection.causes(np.array(p))["mode partition"]) for p in (0.5e-3, 1e-3, 1.5e-3))
    assert none == 0
    assert twice == pytest.approx(4 * once, rel=1e-6, abs=0) == pytest.approx(1e-14 * (0.8 * 1e-3) ** 2, rel=1e-6, abs=0)
    half = detection.attenuated(0.5)
    assert float(half.density(np.array(0.5e-3))) == pytest.approx(once / 4, rel=1e-6, abs=0)
    fiber = MultimodeFiber(length=100.0, partition=0.3)
    bare = ImddChannel(source=Vcsel(), fiber=fiber)
    shaped = replace(bare, predistortion=Predistortion(full_scale=1.0, extinction_db=3.0))
    assert bare.detection.pedestal == 0
    assert shaped.detection.pedestal == pytest.approx(float(shaped.received_power(np.array(-1.0))))
    assert shaped.detection.partition * fiber.partition_rate / 2 == pytest.approx(fiber.partition_rms(850 * nm) ** 2)


def test_detection_is_about_its_rest():
    detection = Detection(photodiode=Photodiode(responsivity=0.5), rest=1e-3)
    assert detection.static(np.array([1e-3, 3e-3])) == pytest.approx([0, 1e-3])
