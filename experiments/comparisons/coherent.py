"""Coherent links beside theory, a planning tool and a program with waveforms; what needs the whole chain of signals runs it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from channels.amplifier import Edfa, combined_db, osnr_from_snr
from channels.coherent import CoherentChannel, Span
from channels.fiber import SingleModeFiber
from channels.nonlinear import Comb, kerr_coefficient, split_step, wavelength_of
from channels.polarization import Polarization
from dsp.constellation import qam
from dsp.dispersion import root_raised_cosine
from dsp.units import GBd, GHz, THz, db_power, from_db, kHz, km, mW, ps, um
from experiments.comparison import Comparison
from serdes.coherent import CoherentLink, SoftFec
from serdes.coherent_metrics import required_snr_db
from serdes.coherent_statistical import CoherentStatistical, loaded
from serdes.coherent_time_domain import CoherentTimeDomain

SECTION = "Coherent"
RATE = 59.84375 * GBd
CENTRE = wavelength_of(193.7 * THz)
CFEC = SoftFec(name="CFEC", threshold=1.25e-2, rate=0.87)
GNPY = (
    (80, 6.46, 59.84, 63, 75, 1, 34.49, 41.93, 33.77), (80, 8.03, 59.84, 63, 75, 1, 32.92, 41.93, 32.40),
    (100, 6.36, 59.84, 63, 75, 1, 30.59, 41.79, 30.27), (120, 6.02, 59.84, 63, 75, 1, 26.92, 41.74, 26.78),
    (80, 8.03, 59.84, 63, 75, 2, 29.90, 38.90, 29.39), (80, 8.03, 59.84, 63, 75, 5, 25.92, 34.87, 25.40),
    (80, 8.03, 59.84, 48, 100, 1, 32.91, 42.96, 32.50), (120, 6.02, 59.84, 48, 100, 1, 26.92, 42.78, 26.81),
    (80, 8.03, 118.2, 32, 150, 1, 32.91, 50.69, 32.84), (120, 6.02, 118.2, 32, 150, 1, 26.92, 50.51, 26.90),
    (80, 8.03, 118.2, 32, 150, 5, 25.92, 43.58, 25.85),
)  # fmt: skip
"""GNPy 3.0.1 at 0 dBm a channel: km, noise figure [dB], GBd, channels, spacing [GHz], spans, and
OSNR of amplifiers, of nonlinear noise, and of both [dB, 0.1 nm]."""
PEER = {0: 20.60, 80: 20.88, 120: 20.77}
"""OSNR [dB] that OptiCommPy 0.11.0 requires for 1.25e-2 after so many km, its cycle slips removed by knowledge of the data."""
SEEDS = 20


def comparisons() -> Iterator[Comparison]:
    """All of them."""
    row = partial(Comparison, section=SECTION)
    for case in GNPY:
        length, figure, rate, channels, spacing, spans, *known = case
        name = f"{spans} x {length} km, {channels} channels of {rate:g} GBd at {spacing} GHz, {figure:g} dB of noise figure"
        test = "test_channels_coherent::test_against_a_planning_tool"
        for what, value, allowed, ours in zip(
            ("OSNR of amplifiers", "OSNR of nonlinear noise", "OSNR of both"), known, (0.02, 0.25, 0.25),
            (_amplifiers, _nonlinear, _both), strict=True,
        ):  # fmt: skip
            yield row(
                what=f"{what}, {name}", unit="dB", reference=value, allowed=allowed, source="GNPy 3.0.1, 0 dBm a channel",
                test=test, ours=partial(ours, case),
            )  # fmt: skip
    chain = "test_serdes_coherent::test_faces_agree_and_the_required_osnr_is_near_theory"
    for length, peer in PEER.items():
        yield row(
            what=f"OSNR that the whole chain requires for 1.25e-2 after {length} km, no knowledge of the data but pilots",
            unit="dB", reference=20.35, allowed=0.3 if length == 0 else 0.6, test=chain, ours=partial(required, length),
            source=f"theory; OptiCommPy 0.11.0 requires {peer:.2f} dB with slips removed by knowledge of the data",
        )  # fmt: skip
        yield row(
            what=f"SNR of the signal face less that of the linear face, {length} km at 22 dB of OSNR", unit="dB", reference=0.0,
            allowed=0.3, source="the other face of the same link", test=chain, ours=partial(_faces, length),
        )  # fmt: skip
    yield row(
        what="SNR of the signal face less that of the linear face, 15 x 80 km at 24 dB of OSNR loaded", unit="dB", reference=0.0,
        allowed=0.3, source="the other face of the same link", ours=_long,
        test="test_serdes_coherent::test_faces_agree_over_long_lines_whose_equaliser_spreads_the_oscillator",
    )  # fmt: skip
    kerr = "test_channels_coherent::test_split_step_against_the_gaussian_noise_model"
    yield row(
        what="SNR of nonlinear noise by split step, one channel of Gaussian symbols, 5 x 80 km, less the closed form", unit="dB",
        reference=0.0, allowed=0.5, source="Gaussian noise model (P. Poggiolini, JLT 30, 2012)", test=kerr,
        ours=lambda: split_step_snr(True) - closed_form(),
    )  # fmt: skip
    yield row(
        what="the same with 16QAM: less interference than the closed form has it", unit="dB", reference=(0.0, 2.0), allowed=0.0,
        source="sign and size of the correction for modulation (A. Carena et al., Optics Express 22, 2014)", test=kerr,
        ours=lambda: split_step_snr(False) - closed_form(),
    )  # fmt: skip
    yield row(
        what=f"blind starts that converge: 1.8 GHz offset, 500 kHz lasers, 10 ps, any polarisation, 22 dB, of {SEEDS}", unit="",
        reference=float(SEEDS), allowed=0.0, source="what is asked of a receiver", ours=blind_starts,
        test="test_serdes_coherent::test_blind_start_with_everything",
    )  # fmt: skip
    for what, limit, changes in (
        ("2400 ps/nm", 0.5, {"channel.spans.0.fiber.length": 2400 / 17 * km}),
        ("10 ps of differential delay", 0.5, {"channel.polarization.dgd": 10 * ps}),
        ("2.5 dB of polarisation-dependent loss", 0.8, {"channel.polarization.loss_db": 2.5}),
        ("a fibre that turns by 50 krad/s", 0.3, {"channel.polarization.turning": 50e3}),
    ):
        yield row(
            what=f"SNR lost to {what} at 22 dB of OSNR", unit="dB", reference=(-0.1, limit), allowed=0.0,
            source="limits of OIF 400ZR, as module data sheets restate them", ours=partial(lost, changes),
            test="test_serdes_coherent::test_penalties_stay_within_what_400zr_allows",
        )  # fmt: skip


def planned(length: float, figure: float, symbol_rate: float, channels: int, spacing: float, spans: int) -> CoherentChannel:
    """Spans as in the planning tool's library: 0.5 dB connectors, 83 um2, 16.7 ps/nm/km; SI units."""
    span = Span(
        fiber=SingleModeFiber(length=length, dispersion=16.7e-6, loss_db_per_km=0.2), amplifier=Edfa(noise_figure_db=figure),
        connector_loss_db=0.5, kerr=kerr_coefficient(83 * um**2, CENTRE),
    )  # fmt: skip
    comb = Comb(symbol_rate=symbol_rate, channels=channels, spacing=spacing)
    return CoherentChannel(spans=(span,) * spans, wavelength=CENTRE, comb=comb)


def _planned(case: tuple[float, ...]) -> CoherentChannel:
    length, figure, rate, channels, spacing, spans, *_ = case
    return planned(length * km, figure, rate * GBd, int(channels), spacing * GHz, int(spans))


def _amplifiers(case: tuple[float, ...]) -> float:
    return _planned(case).osnr_db(1 * mW)


def _nonlinear(case: tuple[float, ...]) -> float:
    return osnr_from_snr(_planned(case).nonlinear_snr_db(1 * mW, case[2] * GBd), case[2] * GBd)


def _both(case: tuple[float, ...]) -> float:
    return combined_db(_amplifiers(case), _nonlinear(case))


def link(length: float, osnr_db: float, **changes: float) -> CoherentLink:
    """400ZR's rate over ``length`` [m] in one span at ``osnr_db``: 17 ps/nm/km, 5 ps, lasers of 100 kHz 200 MHz apart."""
    fiber = SingleModeFiber(length=length, dispersion=17e-6, loss_db_per_km=0.2)
    span = Span(fiber=fiber, amplifier=Edfa(noise_figure_db=3.0))
    channel = CoherentChannel(spans=(span,) if length else (), polarization=Polarization(dgd=5 * ps))
    made = CoherentLink(symbol_rate=RATE, channel=channel, fec=CFEC)
    return loaded(made.vary({"rx.offset": 200e6} | changes), osnr_db)


def required(length: float) -> float:
    """OSNR [dB] at which 1.25e-2 of the bits are wrong after ``length`` [km], Kerr effect by split step: from three runs."""
    osnr = np.array([20.0, 20.5, 21.0])
    ratios = []
    for x in osnr:
        got = CoherentTimeDomain(kerr="split step", step_phase=0.05).run(link(length * km, x), np.random.default_rng(1))
        ratios.append(got.ber)
    return float(np.interp(-np.log(CFEC.threshold), -np.log(ratios), osnr))


def _faces(length: float) -> float:
    made = link(length * km, 22.0)
    got = CoherentTimeDomain().run(made, np.random.default_rng(1))
    return float(np.mean(got.polarizations_db)) - CoherentStatistical().run(made).snr_db


def _long() -> float:
    one = link(80 * km, 24.0)
    spans = tuple(replace(span, kerr=0.0) for span in one.channel.spans)
    made = one.vary({"channel.spans": 15 * spans, "osnr_db": 24.0})
    got = CoherentTimeDomain().run(made, np.random.default_rng(1))
    return float(np.mean(got.polarizations_db)) - CoherentStatistical().run(made).snr_db


_SPANS, _KERR_RATE = 5, 60 * GBd
_LINE = SingleModeFiber(length=80 * km, dispersion=16.7e-6, loss_db_per_km=0.2)


@functools.cache
def split_step_snr(gaussian: bool, n: int = 16384, step_phase: float = 0.02) -> float:
    """SNR [dB] that the Kerr effect alone leaves one channel of Gaussian or of 16QAM symbols at 0 dBm over 5 x 80 km."""
    rng = np.random.default_rng(1)
    points = qam(16).array / np.sqrt(qam(16).mean_square)
    s = points[rng.integers(0, 16, (2, n))]
    if gaussian:
        s = (rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))) / np.sqrt(2)
    f = np.fft.fftfreq(2 * n, 0.5 / _KERR_RATE)
    shape = root_raised_cosine(f, _KERR_RATE, 0.1)
    x = np.fft.ifft(np.tile(np.fft.fft(s), 2) * shape)
    x = x * np.sqrt(1 * mW / np.mean(np.sum(np.abs(x) ** 2, axis=0)))
    for _ in range(_SPANS):
        x = split_step(x, 2 * _KERR_RATE, _LINE, 1.3e-3, CENTRE, step_phase) * from_db(_LINE.loss_db(CENTRE))
    w = 2 * np.pi * f
    b2, b3 = _LINE.betas(CENTRE)
    spectrum = np.fft.fft(x) * np.exp(1j * _SPANS * (b2 * w**2 / 2 + b3 * w**3 / 6)) * shape
    y = np.fft.ifft(spectrum[:, :n] + spectrum[:, n:])
    gain = np.array([np.vdot(a, b) / np.vdot(a, a) for a, b in zip(s, y, strict=True)])[:, None]
    return float(db_power(np.mean(np.abs(s) ** 2) / np.mean(np.abs(y / gain - s) ** 2)))


def closed_form() -> float:
    """SNR [dB] of the same line by the closed form."""
    channel = CoherentChannel(spans=(Span(fiber=_LINE, amplifier=Edfa(noise_figure_db=3)),) * _SPANS, wavelength=CENTRE)
    return channel.nonlinear_snr_db(1 * mW, _KERR_RATE)


def blind_starts() -> float:
    """How many of `SEEDS` fibres, lasers and data converge from a blind start with everything at its worst."""
    return float(sum(blind_start(seed) for seed in range(SEEDS)))


def blind_start(seed: int) -> bool:
    """Whether one does, without a cycle slip and with the SNR of theory."""
    hard = {
        "rx.offset": (-1) ** seed * 1.8 * GHz, "rx.linewidth": 500 * kHz, "tx.linewidth": 500 * kHz, "rx.clock_ppm": 20.0,
        "channel.polarization.dgd": 10 * ps,
    }  # fmt: skip
    got = CoherentTimeDomain(n_symbols=32768).run(link(80 * km, 22.0, **hard), np.random.default_rng(seed))
    return got.outcome == "ok" and got.slips == 0 and got.snr_db > 14.9


def lost(changes: dict[str, float]) -> float:
    """SNR [dB] that ``changes`` cost the whole chain over 80 km at 22 dB, by what the bit error ratio of both needs."""
    ratios = [_ratio(()), _ratio(tuple(changes.items()))]
    still, changed = (required_snr_db(ratio, qam(16)) for ratio in ratios)
    return still - changed


@functools.cache
def _ratio(changes: tuple[tuple[str, float], ...]) -> float:
    own = link(80 * km, 22.0, **({"rx.linewidth": 500 * kHz, "tx.linewidth": 500 * kHz} | dict(changes)))
    return CoherentTimeDomain(n_symbols=131_072).run(own, np.random.default_rng(1)).ber
