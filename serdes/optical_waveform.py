"""Optical power over one period of a pattern: what was captured or simulated, aligned with its symbols, and read off it."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsp import check, filters, sequences
from dsp.constellation import pam
from dsp.units import dbm

FINE = 16
"""Samples per symbol to which a capture is brought."""
_TOP_RUN, _BOTTOM_RUN = 7, 6


@dataclass(frozen=True, kw_only=True, eq=False)
class Waveform:
    """Power [W] over exactly one period of a PAM4 pattern, taken as periodic.

    ``power``: (n_symbols * samples_per_symbol,); sample 0 is the centre of symbol 0, as far as the alignment knows. ``symbols``:
    level indices 0 to 3. ``noise_rms`` [W]: of the instrument, where the capture still contains it or must account for it.
    """

    power: np.ndarray
    symbols: np.ndarray
    symbol_rate: float
    noise_rms: float = 0.0

    def __post_init__(self) -> None:
        check.symbol_rate(self, "symbol_rate", self.symbol_rate)
        check.not_negative(self, "noise_rms", self.noise_rms, "W")
        _check_symbols(self, self.symbols)
        if self.power.ndim != 1 or self.power.size % self.symbols.size or not np.all(np.isfinite(self.power)):
            raise check.fail(self, "power", f"a finite multiple of {self.symbols.size} samples", self.power.shape)
        for array in (self.power, self.symbols):
            array.setflags(write=False)

    @property
    def samples_per_symbol(self) -> int:
        """Samples per symbol."""
        return self.power.size // self.symbols.size

    @property
    def average(self) -> float:
        """Average power [W]."""
        return float(np.mean(self.power))

    def filtered(self, bandwidth: float) -> Waveform:
        """Behind a fourth-order Bessel-Thomson receiver of 3 dB ``bandwidth`` [Hz], its delay taken out."""
        f = np.fft.rfftfreq(self.power.size, 1 / (self.symbol_rate * self.samples_per_symbol))
        delay = 2.1139 / (2 * np.pi * bandwidth)
        h = filters.bessel_thomson4(f, bandwidth) * np.exp(2j * np.pi * f * delay)
        return Waveform(
            power=np.fft.irfft(np.fft.rfft(self.power) * h, self.power.size), symbols=self.symbols,
            symbol_rate=self.symbol_rate, noise_rms=self.noise_rms,
        )  # fmt: skip

    def after_centre(self, phase: float, symbols: np.ndarray) -> np.ndarray:
        """Power [W] ``phase`` [UI] after the centre of each of ``symbols`` (n,), numbered from 0 with the period.

        Between samples by Lagrange's six points: at 16 samples a symbol the error is below 1e-5 up to the symbol rate.
        """
        m, offset = self.samples_per_symbol, phase * self.samples_per_symbol
        base = int(np.floor(offset))
        x = offset - base
        nodes = np.arange(-2, 4)
        by_symbol = self.power.reshape(-1, m)
        total = np.zeros(symbols.size)
        for node in nodes:
            others = nodes[nodes != node]
            weight = float(np.prod((x - others) / (node - others)))
            later, column = divmod(base + int(node), m)
            total += weight * by_symbol[(symbols + later) % by_symbol.shape[0], column]
        return total

    def outer_levels(self) -> tuple[float, float]:
        """(P0, P3) [W]: the central 2 UI of the longest run of each, 6 and 7 symbols in SSPRQ (IEEE 802.3 121.8.4).

        Shorter where the pattern has no such run: of three symbols or less, the central one.
        """
        return self._level(0, _BOTTOM_RUN), self._level(3, _TOP_RUN)

    def _level(self, index: int, run: int) -> float:
        starts, lengths = _runs(self.symbols == index)
        if lengths.size == 0:
            raise ValueError(f"Waveform.symbols must contain level {index} to measure the outer amplitude")
        longest = min(int(np.max(lengths)), run)
        begins = starts[lengths == longest] if np.any(lengths == longest) else starts[lengths >= longest]
        m = self.samples_per_symbol
        width = 2 * m if longest >= 4 else m
        middle = np.round((begins + (longest - 1) / 2) * m).astype(int)
        at = middle[:, None] + np.arange(width) - width // 2
        return float(np.mean(self.power[at % self.power.size]))

    @property
    def oma(self) -> float:
        """Outer optical modulation amplitude P3 - P0 [W]."""
        low, high = self.outer_levels()
        return high - low

    @property
    def extinction_db(self) -> float:
        """Extinction ratio P3 / P0 [dB]; infinite where the lower level is not above 0."""
        low, high = self.outer_levels()
        return float(10 * np.log10(high / low)) if low > 0 else np.inf

    def levels(self) -> np.ndarray:
        """Mean power [W] of each level at the centre of its symbols, shape (4,)."""
        centres = self.power[:: self.samples_per_symbol]
        return np.array([float(np.mean(centres[self.symbols == k])) for k in range(4)])

    @property
    def level_mismatch(self) -> float:
        """R_LM: the smallest level spacing over the even one (IEEE 802.3 120D.3.1.2)."""
        levels = self.levels()
        return float(3 * np.min(np.diff(levels)) / (levels[3] - levels[0]))

    def record(self) -> dict[str, float]:
        """OMA, extinction, average power and R_LM for a table."""
        return {
            "oma_dbm": round(float(dbm(self.oma)), 3),
            "extinction_db": round(self.extinction_db, 3),
            "average_dbm": round(float(dbm(self.average)), 3),
            "level_mismatch": round(self.level_mismatch, 4),
        }


def outer_powers(average: float, extinction_db: float) -> tuple[float, float]:
    """(P0, P3) [W] of even levels with ``average`` [W] and outer extinction: P_avg = OMA/2 (ER + 1)/(ER - 1).

    OMA is their difference.
    """
    check.positive("outer_powers", "average", average, "W")
    check.positive("outer_powers", "extinction_db", extinction_db, "dB")
    ratio = 10 ** (extinction_db / 10)
    return 2 * average / (ratio + 1), 2 * average * ratio / (ratio + 1)


def _check_symbols(owner: object, symbols: np.ndarray) -> None:
    """``ValueError`` unless ``symbols`` are indices of four levels, all of which occur."""
    if symbols.ndim != 1 or symbols.size < 32 or not np.issubdtype(symbols.dtype, np.integer):
        raise check.fail(owner, "symbols", "32 or more whole numbers in one row", f"shape {symbols.shape} of {symbols.dtype}")
    low, high = int(symbols.min()), int(symbols.max())
    if low < 0 or high > 3:
        raise check.fail(owner, "symbols", "level indices 0 to 3", f"{low} to {high}")
    there = np.unique(symbols).tolist()
    if len(there) < 4:
        raise check.fail(owner, "symbols", "of all four levels, 0 to 3", f"only {', '.join(map(str, there))}")


def _check_power(power: np.ndarray) -> None:
    """``ValueError`` for samples that are no optical power, or carry nothing."""
    if power.ndim != 1 or power.size == 0:
        raise ValueError(f"capture: power must be one row of samples, got shape {power.shape}")
    wrong = np.flatnonzero(~np.isfinite(power))
    if wrong.size:
        raise ValueError(f"capture: {wrong.size} of {power.size} samples are no finite numbers, the first is number {wrong[0]}")
    if np.ptp(power) == 0:
        raise ValueError(f"capture: all {power.size} samples are {power[0]:g} W, nothing is modulated")
    mean = float(np.mean(power))
    if mean <= 0:
        raise ValueError(
            f"capture: the average power must be above 0 W, got {mean:.3g} W (is it AC coupled, inverted, or not in watts?)"
        )


def _runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and lengths of the runs of True in a periodic sequence."""
    if np.all(mask):
        return np.array([0]), np.array([mask.size])
    first = int(np.argmin(mask))
    turned = np.roll(mask, -first).astype(np.int8)
    edges = np.diff(np.concatenate(([0], turned, [0])))
    starts = np.flatnonzero(edges == 1)
    return (starts + first) % mask.size, np.flatnonzero(edges == -1) - starts


def aligned(
    power: np.ndarray, samples_per_ui: float, symbol_rate: float, symbols: np.ndarray | None = None, noise_rms: float = 0.0
) -> Waveform:
    """A capture of one period (or more: the first is taken) of a pattern, brought to `FINE` samples a symbol and aligned.

    ``symbols`` None: the pattern is looked for among SSPRQ, PRBS13Q and their inversions. Any real ``samples_per_ui`` of 2 or more.
    ``ValueError`` where the samples are not finite, constant or not positive in the mean, symbols are not indices of all four
    levels, the samples don't hold a period, or the pattern is not found in them.
    """
    power = np.asarray(power, float)
    _check_power(power)
    check.between("aligned", "samples_per_ui", samples_per_ui, 2, 4096)
    if symbols is not None:
        _check_symbols("capture", np.asarray(symbols))
    patterns = {"given": np.asarray(symbols)} if symbols is not None else _patterns()
    best, found = 0.0, None
    seen = power.size / samples_per_ui
    for pattern in patterns.values():
        n_samples = pattern.size * samples_per_ui
        if power.size < n_samples - 0.5:
            continue
        fine = resampled(power[: round(n_samples)], pattern.size * FINE)
        shift, quality = _lag(fine, pattern)
        if abs(quality) > abs(best):
            best, found = quality, (fine, shift, pattern if quality > 0 else 3 - pattern)
    if found is None:
        sizes = ", ".join(f"{name} {p.size}" for name, p in patterns.items())
        raise ValueError(f"capture: pattern not found, {seen:.0f} symbols are shorter than every pattern looked for ({sizes})")
    if abs(best) < 0.5:
        raise ValueError(f"capture: pattern not found, best correlation {abs(best):.2f} with {', '.join(patterns)}")
    fine, shift, pattern = found
    return Waveform(power=np.roll(fine, -shift), symbols=pattern.astype(np.uint8), symbol_rate=symbol_rate, noise_rms=noise_rms)


def _patterns() -> dict[str, np.ndarray]:
    return {"SSPRQ": sequences.ssprq(), "PRBS13Q": sequences.prbs13q()}


def resampled(power: np.ndarray, n: int) -> np.ndarray:
    """One period brought to ``n`` samples, band-limited."""
    spectrum = np.fft.rfft(power)
    keep = min(spectrum.size, n // 2 + 1)
    full = np.zeros(n // 2 + 1, complex)
    full[:keep] = spectrum[:keep]
    if 2 * (keep - 1) == power.size < n:
        full[keep - 1] /= 2
    return np.fft.irfft(full, n) * (n / power.size)


def _lag(fine: np.ndarray, pattern: np.ndarray) -> tuple[int, float]:
    """Sample at the centre of symbol 0, and the correlation there of the waveform with the held pattern."""
    held = np.repeat(pam(4).array[pattern], FINE)
    held = np.roll(held, -(FINE // 2))
    a, b = fine - fine.mean(), held - held.mean()
    product = np.fft.irfft(np.fft.rfft(a) * np.conj(np.fft.rfft(b)), a.size)
    at = int(np.argmax(np.abs(product)))
    return at, float(product[at] / np.sqrt(np.sum(a**2) * np.sum(b**2)))


def read(path: Path, samples_per_ui: float | None = None, symbol_rate: float | None = None) -> Waveform:
    """A capture from a file: ``.npz`` with "waveform_w" and perhaps "symbols", "samples_per_ui", "symbol_rate", "noise_rms_w"; or
    ``.csv`` of one column [W] or two (time [s], power [W]), with or without a header.

    ``ValueError`` that names the file and what is missing.
    """
    symbols, noise = None, 0.0
    if path.suffix.lower() == ".npz":
        held = _npz(path)
        if "waveform_w" not in held:
            raise ValueError(f"{path}: has no array 'waveform_w', only {', '.join(held) or 'nothing'}")
        power, symbols = held["waveform_w"], held.get("symbols")
        samples_per_ui = samples_per_ui or _number(path, held, "samples_per_ui")
        symbol_rate = symbol_rate or _number(path, held, "symbol_rate")
        noise = _number(path, held, "noise_rms_w") or 0.0
    else:
        power, interval = _csv(path)
        if samples_per_ui is None and interval and symbol_rate:
            samples_per_ui = 1 / (interval * symbol_rate)
    if samples_per_ui is None and symbols is not None and power.size % symbols.size == 0:
        samples_per_ui = power.size / symbols.size
    if symbol_rate is None or samples_per_ui is None:
        missing = "symbol rate" if symbol_rate is None else "samples per UI"
        raise ValueError(f"{path}: the {missing} is not in the file and must be given")
    try:
        return aligned(power, samples_per_ui, symbol_rate, symbols, noise)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of numbers in an archive. ``ValueError`` in words of our own for what is none."""
    if not zipfile.is_zipfile(path):
        path.stat()
        raise ValueError(f"{path}: is no .npz archive, or a damaged one (numpy.savez writes one)")
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: an array in it is damaged or not of numbers") from error


def _number(path: Path, held: dict[str, np.ndarray], name: str) -> float | None:
    """A single number among the arrays, None where it is missing."""
    if name not in held:
        return None
    if held[name].size != 1 or held[name].dtype.kind not in "iuf":
        raise ValueError(f"{path}: {name!r} must be one number, got shape {held[name].shape} of {held[name].dtype}")
    return float(held[name].item())


def _csv(path: Path) -> tuple[np.ndarray, float | None]:
    """Power [W] and the time between samples [s], None where there is no time column."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        cells = line.replace(";", ",").split(",")
        try:
            rows.append([float(cell) for cell in cells if cell.strip()])
        except ValueError:
            if number > 16:
                raise ValueError(f"{path}: line {number} is not numbers: {line[:40]!r}") from None
    width = len(rows[-1]) if rows else 0
    table = [row for row in rows if len(row) == width]
    if width not in (1, 2) or len(table) < 64:
        raise ValueError(f"{path}: needs 64 or more lines of one (W) or two (s, W) numbers, found {len(table)} of {width}")
    columns = np.array(table)
    if width == 1:
        return columns[:, 0], None
    return columns[:, 1], float((columns[-1, 0] - columns[0, 0]) / (len(columns) - 1))
