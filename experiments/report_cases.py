"""Studies of a case of one's own, on cases that the report makes for itself: a cable as a file, a link, an optical capture.

Each returns the study's answer with the file it is about among the texts, so that the command can be given it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dsp.units import GHz, MHz, mW, ps
from experiments.study import Answer, Progress, silent

CABLE, CAPTURE = "cable.s4p", "capture.csv"
SAMPLES, SYMBOL_RATE = 16, 53.125e9
"""Samples per symbol, and symbols per second [Bd], of the optical capture."""


def eye(rate: str = "112G", length: float = 1.0) -> Answer:
    """The eye of the reach study's link at ``length`` [m]."""
    from experiments.studies import eye as study
    from serdes.setups import setup

    s = setup(rate)
    note = f"the link of the reach study at {length:g} m, judged at an error ratio of {s.error_ratio:g}"
    case = study.Case(name=f"{s.name}, {length:g} m", link=s.link(length), error_ratio=s.error_ratio, notes=(note,))
    return study.run(case)


def jtol(
    rate: str = "112G", length: float = 1.0, frequencies: Sequence[float] | None = None, n_symbols: int | None = None,
    progress: Progress = silent,
) -> Answer:  # fmt: skip
    """Jitter tolerance of that link; ``frequencies`` [Hz] and ``n_symbols`` of each run by default the study's."""
    from experiments.studies import jtol as study

    case = study.case(rate, length)
    if n_symbols is not None:
        case = replace(case, engine=replace(case.engine, n_symbols=n_symbols))
    return study.run(case, tuple(frequencies or study.FREQUENCIES), progress=progress)


def channel(length: float = 1.0, progress: Progress = silent) -> Answer:
    """What `cable` says of itself when it comes as a file."""
    from experiments.studies import channel as study

    return _of(CABLE, lambda path: cable(path, length), lambda path: study.run([path], progress=progress))


def com(
    length: float = 1.0, standard: str = "802.3ck-cr", cases: Sequence[str] | None = None, progress: Progress = silent
) -> Answer:
    """Channel Operating Margin of `cable`; ``cases``: of the standard, by default all."""
    from experiments.studies import com as study

    def look(path: Path) -> Answer:
        return study.run(path, standard=standard, cases=cases, progress=progress)

    return _of(CABLE, lambda path: cable(path, length), look)


def tdecq(bandwidth: float = 28.0 * GHz) -> Answer:
    """TDECQ of `capture`."""
    from experiments.studies import tdecq as study

    return _of(
        CAPTURE, lambda path: capture(path, bandwidth), lambda path: study.run(path, SAMPLES, SYMBOL_RATE, interface="400G-DR4")
    )


def cable(path: Path, length: float) -> None:
    """A cable assembly to 60 GHz: connector, ``length`` [m] of 26 AWG twinax with 2 ps of skew a metre, connector."""
    from channels.catalog import CABLES, CONNECTORS
    from channels.pair import Balanced, TwinaxPair
    from channels.touchstone import write_touchstone

    f = np.arange(0, 60 * GHz + 1, 25 * MHz)
    connector = CONNECTORS["front panel"].value
    pair = TwinaxPair(cable=replace(CABLES[26].value, length=float(length)), skews=(2 * ps,))
    whole = Balanced(part=connector) @ pair @ Balanced(part=connector.flipped)
    text = f"simulated: connector, {length:g} m of twinax, 26 AWG, 2 ps/m of skew, connector; ports left +, -, right +, -"
    write_touchstone(path, f, whole.s(f, 50.0), digits=9, comments=(text,))


def capture(path: Path, bandwidth: float) -> None:
    """One period of PRBS13Q, 1 mW and 4.5 dB extinction, R_LM 0.98, behind a Bessel-Thomson filter of ``bandwidth`` [Hz].

    8 uW rms of white noise are left in it.
    """
    from dsp import filters, sequences
    from dsp.constellation import pam
    from serdes.optical_waveform import outer_powers

    symbols = sequences.prbs13q()
    low, high = outer_powers(1 * mW, 4.5)
    level = (high + low) / 2 + (high - low) / 2 * pam(4, 0.98).array[symbols]
    n = symbols.size * SAMPLES
    k = np.arange(n // 2 + 1)
    held = np.tile(np.fft.fft(level), SAMPLES // 2 + 1)[: k.size] * np.sinc(k / symbols.size) * SAMPLES
    power = np.fft.irfft(held * filters.bessel_thomson4(k / symbols.size * SYMBOL_RATE, bandwidth), n)
    power += np.random.default_rng(1).normal(0.0, 8e-3 * mW, n)
    path.write_text("\n".join(f"{p:.6e}" for p in power) + "\n", encoding="utf-8")


def _of(name: str, make: Callable[[Path], None], look: Callable[[Path], Answer]) -> Answer:
    """``look`` at the file that ``make`` writes, under the file's bare name, with the file among the texts."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        make(path)
        found = look(path)
        # Figures may look into the file: they are drawn while it is there.
        drawn = {name: draw() for name, draw in found.figures.items()}
        text = path.read_text(encoding="utf-8")

    def bare(value: Any) -> Any:
        return value.replace(str(path), name) if isinstance(value, str) else value

    return replace(
        found,
        notes=[bare(note) for note in found.notes],
        tables={name: [{k: bare(v) for k, v in row.items()} for row in rows] for name, rows in found.tables.items()},
        figures={name: partial(_same, figure) for name, figure in drawn.items()},
        texts={**found.texts, name: text},
    )


def _same(figure: Any) -> Any:
    return figure
