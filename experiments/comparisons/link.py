"""Links beside the textbook, exact enumeration, other programs, and one engine beside the other."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from channels.catalog import CABLES
from channels.copper import CopperChannel
from dsp.clock import IdealClock, MuellerMuller, lock_phase
from dsp.constellation import pam
from dsp.distribution import Interference, dual_dirac_eye_width, pam_error_ratios
from dsp.equalizer import Mmse
from dsp.fec import KP4
from experiments.comparison import Comparison
from serdes.bounds import bounds
from serdes.link import Link, Receiver, Transmitter
from serdes.metrics import required_snr_db, symbol_error_ratio
from serdes.propagation import error_chain
from serdes.reach import reach
from serdes.setups import setup
from serdes.simulate import simulate
from serdes.statistical import Statistical
from serdes.time_domain import TimeDomain

SECTION, REACH = "Link", "Reach"
_TEXTBOOK = "textbook sums over all transitions, 40 digits"
_TWIN = "an independent program with its own twinax, pulse and noise"
_RATE = 53.125e9


def _error_ratio(cursors: tuple[float, ...], sigma: float) -> float:
    noise = Interference(cursors=np.array(cursors), levels=pam(4).array, sigma=sigma)
    return pam_error_ratios(pam(4), np.array([-0.4, 0, 0.4]), 0.6, noise)[0]


def _codeword_failure(ber: float) -> float:
    return float(KP4.codeword_failure(ber))


def _mueller_muller() -> float:
    """Lock phase [UI] for a unit rectangle through one pole of half a unit interval."""
    rc = 0.5

    def pulse(tau: np.ndarray) -> np.ndarray:
        rising = 1 - np.exp(-np.clip(tau, 0, 1) / rc)
        return np.where(tau > 0, rising * np.exp(-np.maximum(tau - 1, 0) / rc), 0.0)

    found = lock_phase(pulse, peak=1.0)
    return math.nan if found is None else found


def _engines_apart(closed_loop: bool) -> float:
    """Slicer SNR [dB] counted less that of the statistical engine."""
    if closed_loop:
        link = setup("112G").link(3.0).vary({"rx.clock": MuellerMuller()})
        counted = simulate(link, TimeDomain(n_symbols=200_000, eye_symbols=0), np.random.default_rng(1))
    else:
        rx = Receiver(noise_density=1.5e-15, bandwidth=0.75 * _RATE, equalizer=Mmse(n_feedback=0))
        channel = CopperChannel(parts=(replace(CABLES[26].value, length=3.44),))
        link = Link(symbol_rate=_RATE, tx=Transmitter(amplitude=0.4, rise_time=7.5e-12), channel=channel, rx=rx)
        counted = simulate(link, TimeDomain(n_symbols=400_000, eye_symbols=0), np.random.default_rng(1))
    return counted.snr_db - simulate(link, Statistical(eye=False)).snr_db


def _propagation() -> float:
    """Symbol error ratio counted with decisions fed back, over that of the error chain of the statistical engine's result."""
    link = setup("112G").link(3.0, crosstalk=False).vary({"rx.noise_density": 1e-16})
    settled = simulate(link, Statistical(eye=False))
    counted = simulate(link, TimeDomain(n_symbols=2_000_000, eye_symbols=0), np.random.default_rng(1))
    return counted.ser / error_chain(settled).symbol_error_ratio


@functools.lru_cache(maxsize=8)
def _starts(rate: str, length: float) -> tuple[int, float]:
    """Of 20 starts from any phase and up to +-100 ppm, how many lock; and their mean slicer SNR [dB] less that of an ideal clock
    at the best phase.
    """
    rng = np.random.default_rng(77)
    base = setup(rate).link(length)
    engine = TimeDomain(n_symbols=60_000, settle=40_000, eye_symbols=0, samples_per_symbol=2)
    locked, snr = 0, []
    for seed in range(20):
        start = {"rx.clock": MuellerMuller(skew_ui=None), "tx.offset_ppm": float(rng.uniform(-100, 100))}
        run = replace(engine, phase_error_ui=float(rng.uniform(-0.5, 0.5)))
        result = simulate(base.vary(start), run, np.random.default_rng(seed))
        locked += result.outcome == "ok"
        snr.append(result.snr_db)
    ideal = simulate(base.vary({"rx.clock": IdealClock()}), replace(engine, n_symbols=400_000), np.random.default_rng(1))
    return locked, float(np.mean(snr)) - ideal.snr_db


def _start(rate: str, length: float, which: int) -> float:
    return float(_starts(rate, length)[which])


def _salz(hosts: tuple[str, str]) -> float:
    return bounds(setup("200G").link(1.0, 26, hosts), tx_noise=False, crosstalk=False, jitter=False).salz_db


def _reach(rate: str, hosts: tuple[str, str] | None) -> float:
    s = setup(rate)
    return reach(lambda length: s.link(length, 26, hosts), s.target(), (0.05, 40.0)).length


def _link_rows() -> Iterator[Comparison]:
    row = partial(Comparison, section=SECTION)
    for snr, value in ((14, 0.0187512270611063), (18, 0.00028636166111399), (22, 1.35090155259431e-08)):
        yield row(
            what=f"PAM4 in white noise, SNR {snr} dB, symbol error ratio", unit="", reference=value, allowed=1e-9 * value,
            source=_TEXTBOOK, ours=partial(symbol_error_ratio, snr, pam(4)),
            test="test_serdes_metrics::test_published_error_ratios_in_white_noise",
        )  # fmt: skip
    for cursors, sigma, value in (
        ((-0.05, 0.14, -0.06, 0.03), 0.03, 0.0797383112867823),
        ((-0.02, 0.05, -0.03, 0.02), 0.0115, 1.02208949919148e-14),
    ):
        yield row(
            what=f"PAM4, main cursor 0.6, echoes {', '.join(map(str, cursors))}, noise {sigma:g}, symbol error ratio", unit="",
            reference=value, allowed=1e-9 * value, source="enumeration of every combination of symbols, 40 digits",
            ours=partial(_error_ratio, cursors, sigma),
            test="test_dsp_distribution::test_pam4_with_four_isi_cursors",
        )  # fmt: skip
    yield row(
        what="eye width at 1e-12 of dual-Dirac jitter, 0.1 UI and 0.012 UI rms", unit="UI", reference=0.735874854019991,
        allowed=1e-9, source="closed form, 40 digits", ours=lambda: float(dual_dirac_eye_width(1e-12, 0.1, 0.012, 0.5)),
        test="test_dsp_distribution::test_published_eye_width",
    )  # fmt: skip
    yield row(
        what="Mueller-Muller clock, lock phase on a pulse of one pole", unit="UI",
        reference=0.5 * math.log(math.exp(2) + 1 - math.exp(-2)), allowed=1e-9, source="closed form", ours=_mueller_muller,
        test="test_dsp_clock::test_locks_where_pre_and_post_cursor_are_equal",
    )  # fmt: skip
    for levels, mismatch, ratio, value in ((2, 1.0, 1e-5, 12.6), (4, 0.95, 1e-4, 19.1), (4, 0.95, 2e-4, 18.7)):
        yield row(
            what=f"SNR that PAM{levels} needs for {ratio:g}, level mismatch {mismatch:g}" if levels > 2
            else f"SNR that NRZ needs for {ratio:g}", unit="dB", reference=value, allowed=0.1,
            source=_TWIN + "; it counts unequal levels as a loss of 20 log10 R_LM",
            ours=partial(required_snr_db, ratio, pam(levels, mismatch)),
            test="test_serdes_metrics::test_published_requirements",
        )  # fmt: skip
    for ber, value in ((1e-4, 1.35981106476443e-18), (2.4e-4, 8.15157339933046e-13)):
        yield row(
            what=f"KP4 code, bit errors {ber:g} before it, codeword failure ratio", unit="", reference=value,
            allowed=1e-10 * value, source="binomial sum, 40 digits", ours=partial(_codeword_failure, ber),
            test="test_dsp_fec::test_kp4_in_independent_errors",
        )  # fmt: skip
    for hosts, value in ((("HN", "HH"), 31.7), (("HL", "HL"), 40.6)):
        yield row(
            what=f"Salz bound (infinite equaliser, thermal noise alone), 200G, 1 m of 26 AWG, {'-'.join(hosts)} hosts", unit="dB",
            reference=value, allowed=0.3, source=_TWIN, ours=partial(_salz, hosts),
            test="test_serdes_bounds::test_published_bounds_at_200g",
        )  # fmt: skip
    for closed, allowed, what in (
        (False, 0.03, "cable of 16 dB, ideal clock, no feedback, 400,000 symbols"),
        (True, 0.4, "112G over 3 m, clock loop closed, 200,000 symbols"),
    ):
        yield row(
            what=f"slicer SNR counted symbol by symbol less that of the statistical engine: {what}", unit="dB", reference=0.0,
            allowed=allowed, source="one engine beside the other", ours=partial(_engines_apart, closed),
            test="test_experiments_comparisons::test_ours_is_theirs" if closed
            else "test_engines::test_ideal_clock_frozen_taps_thermal_noise",
        )  # fmt: skip
    yield row(
        what="symbol error ratio counted with decisions fed back over that of the statistical engine's error chain: 112G over 3 m, "
        "noise raised", unit="", reference=1.0, allowed=0.1, source="one engine beside the other", ours=_propagation,
        test="test_serdes_propagation::test_the_chain_closes_the_gap_between_the_engines_on_real_channels",
    )  # fmt: skip
    for rate, length in (("28G", 2.0), ("56G", 2.0), ("112G", 1.0), ("224G", 1.0)):
        yield row(
            what=f"{rate} over {length:g} m: starts that lock, of 20 from any phase and up to 100 ppm", unit="", reference=20,
            allowed=0, source="what a receiver must do", ours=partial(_start, rate, length, 0),
            test="test_serdes_loops::test_locks_from_any_phase_and_offset",
        )  # fmt: skip
        yield row(
            what=f"{rate} over {length:g} m: mean slicer SNR of these starts less that of an ideal clock at the best phase", unit="dB",
            reference=0.0, allowed=0.2, source="one clock beside the other",
            ours=partial(_start, rate, length, 1),
            test="test_serdes_loops::test_a_loop_may_settle_at_the_best_phase",
        )  # fmt: skip


def _reach_rows() -> Iterator[Comparison]:
    for rate, hosts in (("25G", None), ("50G", None), ("100G", None), ("200G", ("HN", "HH")), ("200G", ("HL", "HL"))):
        accepted = setup(rate).accepted_reach[1]
        yield Comparison(
            section=REACH, what=f"{rate}{' between ' + '-'.join(hosts) + ' hosts' if hosts else ''}, 26 AWG, 3 dB of margin",
            unit="m", reference=(accepted, math.inf), allowed=0.0, ours=partial(_reach, rate, hosts),
            source="objective of the standard: the least that typical parts must reach",
            test="test_experiments_comparisons::test_ours_is_theirs",
        )  # fmt: skip


def comparisons() -> Iterator[Comparison]:
    """All of them."""
    yield from _link_rows()
    yield from _reach_rows()
