"""Units of what a sweep varies: values go into a link as they are, in SI, so a stated unit must be the link's own."""

from __future__ import annotations

from collections.abc import Mapping

from dsp import units
from experiments.axes import Axis, Values
from experiments.dataset import SUFFIXES

_FIELDS = {
    "m": ("length", "wavelength"), "Bd": ("symbol_rate",), "V": ("amplitude",), "V^2/Hz": ("noise_density",),
    "Hz": ("bandwidth", "pole1", "pole2", "zero", "low_frequency_pole", "peak_frequency", "reference_frequency", "linewidth"),
    "ohm": ("impedance", "source_resistance", "load_resistance"), "s": ("rise_time",),
}  # fmt: skip
OF_FIELD = {field: unit for unit, fields in _FIELDS.items() for field in fields}
"""Units of a link's fields, by the last name of their path; those told by the end of a name (`SUFFIXES`) beside."""
_MULTIPLES = {name for name, value in vars(units).items() if isinstance(value, float) and value != 1.0}


def unit_of(path: str) -> str:
    """The unit of the field at ``path`` of a link, "" where it is not known.

    >>> unit_of("setup.length"), unit_of("tx.snr_db"), unit_of("rx.equalizer.n_taps")
    ('m', 'dB', '')
    """
    last = path.rpartition(".")[2]
    return OF_FIELD.get(last) or next((unit for end, unit in SUFFIXES.items() if last.endswith(end)), "")


def of_axes(axes: Mapping[str, Axis | Values]) -> dict[str, str]:
    """The unit of every parameter that has one, stated or known.

    Raises ValueError that names axis and unit for a stated unit that is not the field's, and for a multiple of an SI unit.
    """
    found = {}
    for dim, axis in axes.items():
        stated = dict(axis.units) if isinstance(axis, Axis) else {dim: axis.unit}
        for name in axis.names if isinstance(axis, Axis) else (dim,):
            unit, known = stated.get(name, ""), unit_of(name)
            where = f"axes.{dim}" if name == dim else f"axes.{dim}.{name}"
            if unit and known and unit != known:
                raise ValueError(
                    f"{where}: values go into the link as they are, in {known}: {unit!r} is not that unit, convert them"
                )
            if unit in _MULTIPLES:
                raise ValueError(f"{where}: values go into the link as they are, in SI: {unit!r} is not SI, convert them")
            if unit or known:
                found[name] = unit or known
    return found
