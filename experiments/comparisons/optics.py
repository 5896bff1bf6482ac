"""Light beside the textbook, published theory tables, and an instrument."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from channels.amplifier import osnr_from_snr
from channels.fiber import SingleModeFiber
from channels.imdd import ImddChannel
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.optical_path import Photodiode
from channels.stages import Amplifier
from dsp.clock import IdealClock
from dsp.constellation import pam, qam
from dsp.equalizer import Mmse
from dsp.inner_ratio import after_inner
from dsp.units import GBd, GHz, from_db_power, from_dbm, km, nm, ps
from experiments.comparison import Comparison, data_folder
from experiments.studies import optics
from serdes import optical_waveform
from serdes.coherent_metrics import bit_error_ratio, required_snr_db
from serdes.coherent_standards import module
from serdes.link import Link, Receiver, Transmitter
from serdes.semi_analytic import SemiAnalytic
from serdes.sensitivity import sensitivity
from serdes.simulate import simulate
from serdes.tdecq import DRAFT_BS, HALF_BAUD, tdecq

SECTION = "Optics"
_OWN = "an independent semi-analytic model with the same components"
CAPTURES = (("70G.npz", 2.06), ("43G.npz", 2.82), ("32G.npz", 3.69))
"""File and TDECQ [dB] of the instrument at its best main tap."""
SERIES = ((np.inf, 0.34, -0.02), (60, 0.54, 0.11), (45, 0.68, 0.22), (35, 0.97, 0.46), (28, 1.18, 0.66), (22, 1.78, 1.27))
"""Bandwidth [GHz] of an ideal transmitter, and TDECQ [dB] with a receiver of half the symbol rate and of draft 2.2."""
STAGES = (("slicer alone", -8.40), ("FFE, 5 taps", -9.00), ("FFE, 21 taps at T/2", -9.13))
"""Receiver and OMA [dBm] it needs at 106.25 GBd, 70 GHz all through."""
PEER = ((53.125, -12, 17.82), (53.125, -5, 28.03), (106.25, -12, 15.00), (106.25, -10, 18.62), (106.25, -5, 26.21))
"""Symbol rate [GBd], power of the light [dBm] and SNR [dB] of another tool's example: +-V_pi/4, 50 ohm, shot noise, no fibre."""
_BEST_TAP = 3


def comparisons() -> Iterator[Comparison]:
    """All of them."""
    row = partial(Comparison, section=SECTION)
    for chirp, length, value in ((0, 1, 60.6), (0, 2, 42.8), (1, 1, 42.8), (-0.7, 1, 71.4)):
        yield row(
            what=f"first null of {length} km at 1550 nm, 17 ps/nm/km, chirp {chirp:g}", unit="GHz", reference=value,
            allowed=0.005 * value, source="closed form of chromatic dispersion", ours=partial(_null, chirp, length, value),
            test="test_channels_optics::test_nulls_of_dispersion_where_the_textbook_has_them",
        )  # fmt: skip
    for zero, at, value in ((1324, 1264.5, -5.87), (1324, 1304.5, -1.83), (1300, 1317.5, 1.58), (1300, 1337.5, 3.31)):
        yield row(
            what=f"dispersion at {at:g} nm of fibre with its zero at {zero} nm", unit="ps/nm/km", reference=value, allowed=0.01,
            source="worst cases of the standard's windows", ours=partial(_dispersion, zero, at),
            test="test_channels_optics::test_dispersion_of_the_standard_windows",
        )  # fmt: skip
    for ber, value in ((1e-4, 18.225), (2.4e-4, 17.655), (1.25e-2, 13.549)):
        yield row(
            what=f"SNR that 16QAM needs for a bit error ratio of {ber:g}", unit="dB", reference=value, allowed=0.002,
            source="theory table", ours=partial(_needed, ber),
            test="test_serdes_coherent_metrics::test_published_thresholds",
        )  # fmt: skip
    yield row(
        what="OSNR (0.1 nm) that ideal 16QAM needs at 59.84375 GBd for 1.25e-2", unit="dB", reference=20.35, allowed=0.007,
        source="theory table", ours=lambda: float(osnr_from_snr(required_snr_db(1.25e-2, qam(16)), 59.84375 * GBd)),
        test="test_serdes_coherent_metrics::test_published_thresholds",
    )  # fmt: skip
    for osnr, value in ((20, 1.54e-2), (22, 3.78e-3), (26, 1.70e-5)):
        yield row(
            what=f"bit error ratio of 16QAM at {osnr} dB of OSNR, 59.84375 GBd", unit="", reference=value, allowed=0.01 * value,
            source="OptiCommPy 0.11.0", ours=partial(_errors_at, osnr),
            test="test_serdes_coherent_metrics::test_theory_of_another_tool",
        )  # fmt: skip
    for what, value, allowed, ours in (
        ("energy of a 400ZR module", 46.0, 0.46, lambda: module("400ZR").energy / 1e-12),
        ("dispersion-limited reach of 400ZR", 137.0, 1.4, lambda: module("400ZR").dispersion_reach() / km),
    ):
        yield row(
            what=what, unit="pJ/bit" if "energy" in what else "km", reference=value, allowed=allowed, ours=ours,
            source="OIF 400ZR: 18.4 W for 400 Gb/s; 2400 ps/nm at the fibre's largest dispersion",
            test="test_serdes_coherent_standards::test_400zr_by_its_published_figures" if "energy" in what
            else "test_serdes_coherent_standards::test_dispersion_limits",
        )  # fmt: skip
    for bandwidth, half_baud, draft in SERIES:
        shape = "ideal" if np.isinf(bandwidth) else f"of {bandwidth} GHz"
        for receiver, value in (("half the symbol rate", half_baud), ("38.68 GHz", draft)):
            yield row(
                what=f"TDECQ of a transmitter {shape} at 53.125 GBd, receiver of {receiver}", unit="dB", reference=value,
                allowed=0.05 if np.isinf(bandwidth) else 0.15, source=_OWN, ours=partial(_tdecq, bandwidth, value == draft),
                test="test_serdes_tdecq::test_published_series",
            )  # fmt: skip
    for stage, value in STAGES:
        yield row(
            what=f"OMA needed at 106.25 GBd for 2.4e-4, {stage}, thermal noise alone", unit="dBm", reference=value, allowed=0.3,
            source=_OWN, ours=partial(_sensitivity, stage), test="test_serdes_semi_analytic::test_published_sensitivities",
        )  # fmt: skip
    for baud, power, value in PEER:
        yield row(
            what=f"slicer SNR of {power} dBm at {baud:g} GBd, 21 taps at T/2, at the symbol's centre and edge", unit="dB",
            reference=value, allowed=0.2, ours=partial(_peer_snr, baud, power),
            source="OptiCommPy 0.11.0, least mean squares where we solve; sampled a quarter later, ours is 0.2 to 0.6 dB better",
            test="test_serdes_semi_analytic::test_a_peer_at_its_sampling_phase",
        )  # fmt: skip
    for before, value in ((4.86e-3, 2.46e-4),):
        yield row(
            what=f"bit error ratio behind the inner code at {before:g} before it", unit="", reference=value,
            allowed=0.03 * value, source="Hamming (128,120) with Chase decoding, counted by an independent program",
            ours=partial(_after_inner, before), test="test_dsp_inner_ratio::test_published_threshold",
        )  # fmt: skip
    for file, value in CAPTURES:
        yield row(
            what=f"TDECQ of the capture {file}, main tap {_BEST_TAP} of 5", unit="dB", reference=value, allowed=0.3,
            source="instrument of the IEEE contribution mazzini_02_0317_smf (FlexDCA, draft 2.2)", needs="data/tdecq/README.json",
            ours=partial(_captured, file), test="test_serdes_tdecq::test_captures_with_an_instrument_beside",
        )  # fmt: skip


def _peer_snr(baud: float, power_dbm: float) -> float:
    channel = ImddChannel(
        source=Mzm(laser=Laser(power=2 * float(from_dbm(power_dbm)), wavelength=1550 * nm), extinction_db=100.0), driver=Amplifier(),
        photodiode=Photodiode(dark_current=0.0),
        tia=Amplifier(gain=1e3, bandwidth=0.7 * baud * GBd, shape="gaussian", noise_density=18.15e-12**2),
    )  # fmt: skip
    taps = Mmse(n_taps=21, n_precursors=5, n_feedback=0)
    link = Link(
        symbol_rate=baud * GBd, tx=Transmitter(amplitude=0.5), channel=channel,
        rx=Receiver(equalizer=taps, clock=IdealClock(phase_ui=0.0)),
    )  # fmt: skip
    return simulate(link, SemiAnalytic(taps_per_symbol=2)).snr_db


def _null(chirp: float, length: float, near: float) -> float:
    """Frequency [GHz] of least transfer of intensity around ``near``."""
    fiber = SingleModeFiber(length=length * km, dispersion=17 * ps / nm / km)
    f = np.linspace(0.9 * near, 1.1 * near, 4001) * GHz
    return float(f[np.argmin(np.abs(fiber.intensity_transfer(f, 1550 * nm, chirp)))] / GHz)


def _after_inner(before: float) -> float:
    return float(after_inner(before))


def _sensitivity(stage: str) -> float:
    """OMA [dBm] at which optics without fibre, 70 GHz all through, meet 2.4e-4."""
    equalizer, per_symbol = optics.STAGES[stage]
    return sensitivity(optics.bare_link((70.0, 70.0), equalizer), 2.4e-4, SemiAnalytic(taps_per_symbol=per_symbol)).oma_dbm


def _tdecq(bandwidth: float, draft: bool) -> float:
    """Of PAM4 of 1 mW average and 5 dB extinction behind a Bessel filter of ``bandwidth`` [GHz], random symbols."""
    rate, n, m = 53.125 * GBd, 4096, optical_waveform.FINE
    symbols = np.random.default_rng(1).integers(4, size=n)
    symbols[100:107], symbols[200:206] = 3, 0  # the runs by which the outer levels are measured
    extinction = float(from_db_power(5.0))
    level = 1e-3 * (1 + (extinction - 1) / (extinction + 1) * pam(4).array[symbols])
    k = np.arange(n * m // 2 + 1)
    spectrum = np.tile(np.fft.fft(level), m // 2 + 1)[: k.size] * np.sinc(k / n) * m
    power = np.fft.irfft(spectrum, n * m)
    waveform = optical_waveform.Waveform(power=power, symbols=symbols, symbol_rate=rate)
    seen = waveform if np.isinf(bandwidth) else waveform.filtered(bandwidth * GHz)
    ratio = DRAFT_BS.bandwidth_ratio if draft else HALF_BAUD.bandwidth_ratio
    return tdecq(seen, replace(HALF_BAUD, bandwidth_ratio=ratio)).tdecq_db


def _needed(ber: float) -> float:
    return float(required_snr_db(ber, qam(16)))


def _errors_at(osnr_db: float) -> float:
    return float(bit_error_ratio(osnr_db - 6.801, qam(16)))


def _dispersion(zero: float, at: float) -> float:
    return float(SingleModeFiber(length=1.0, zero_dispersion=zero * nm).dispersion_at(at * nm) / (ps / nm / km))


@functools.cache
def _captured(file: str) -> float:
    data = data_folder()
    if data is None:
        raise ValueError("the folder of reference data has gone")
    folder = data / "data" / "tdecq"
    table = json.loads((folder / "README.json").read_text(encoding="utf-8"))
    row = next(r for r in table["waveforms"] if r["file"] == file)
    waveform = optical_waveform.read(folder / file, symbol_rate=table["baud_rate_hz"])
    waveform = replace(waveform, noise_rms=row["instrument_noise_rms_w"])
    return tdecq(waveform, replace(DRAFT_BS, main_taps=(_BEST_TAP,)), filtered=True).tdecq_db
