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
from dsp.constellation import qam
from dsp.units import GBd, GHz, km, nm, ps
from experiments.comparison import Comparison, data_folder
from serdes import optical_waveform
from serdes.coherent_metrics import bit_error_ratio, required_snr_db
from serdes.coherent_standards import module
from serdes.tdecq import DRAFT_BS, tdecq

SECTION = "Optics"
CAPTURES = (("70G.npz", 2.06), ("43G.npz", 2.82), ("32G.npz", 3.69))
"""File and TDECQ [dB] of the instrument at its best main tap."""
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
    for file, value in CAPTURES:
        yield row(
            what=f"TDECQ of the capture {file}, main tap {_BEST_TAP} of 5", unit="dB", reference=value, allowed=0.3,
            source="instrument of the IEEE contribution mazzini_02_0317_smf (FlexDCA, draft 2.2)", needs="data/tdecq/README.json",
            ours=partial(_captured, file), test="test_serdes_tdecq::test_captures_with_an_instrument_beside",
        )  # fmt: skip


def _null(chirp: float, length: float, near: float) -> float:
    """Frequency [GHz] of least transfer of intensity around ``near``."""
    fiber = SingleModeFiber(length=length * km, dispersion=17 * ps / nm / km)
    f = np.linspace(0.9 * near, 1.1 * near, 4001) * GHz
    return float(f[np.argmin(np.abs(fiber.intensity_transfer(f, 1550 * nm, chirp)))] / GHz)


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
