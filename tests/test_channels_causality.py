"""The causality check tells copper that can exist from copper that cannot; passivity and reciprocity likewise."""

from dataclasses import replace

import numpy as np
import pytest

from channels import materials
from channels.catalog import BOARDS, CABLES, CONNECTORS, FLYOVERS, HOSTS, INTERPOSERS, LAMINATES, PACKAGES, VIAS
from channels.causality import RESIDUAL_LIMIT, energy_before_zero, passivity, phase_residual, reciprocity
from channels.copper import StandardLine, Twinax
from channels.lines import StopBand
from channels.network import Chain
from channels.pair import Differential, TwinaxPair
from channels.surface import Plating, Roughness
from dsp.units import GHz, mm, ns, um

F = np.arange(1, 10001) * 10e6  # 10 MHz to 100 GHz
CONNECTOR = CONNECTORS["front panel"].value
ASSEMBLY = (CONNECTOR, Twinax(length=1.0), CONNECTOR.flipped)
PATHS = {
    **{f"{gauge} AWG": entry.value for gauge, entry in CABLES.items()},
    "hot cable": Twinax(length=1.0, gauge=30, temperature=75.0),
    "mismatched cable": Twinax(length=1.0, impedance=90.0),
    **{f"package {name}": entry.value.tx for name, entry in PACKAGES.items()},
    **{f"board {name}": entry.value for name, entry in BOARDS.items()},
    **{f"host {name}": Chain(entry.value) for name, entry in HOSTS.items()},
    "connector": CONNECTOR,
    "backplane connector": CONNECTORS["backplane"].value,
    **{f"flyover {gauge} AWG": entry.value for gauge, entry in FLYOVERS.items()},
    **{f"laminate {name}": replace(entry.value, length=0.25) for name, entry in LAMINATES.items()},
    "microstrip": replace(LAMINATES["Megtron 7"].value, length=0.1, height=90 * um, layout="microstrip"),
    **{
        f"{model} board": replace(LAMINATES["Megtron 7"].value, length=0.25, roughness=Roughness(height=0.4 * um, model=model))
        for model in ("gradient", "hammerstad", "groiss")
    },
    "silver on copper": Twinax(length=1.0, plating=Plating(thickness=1 * um)),
    "nickel on copper": Twinax(length=0.5, plating=Plating(thickness=2 * um, resistivity=7e-8, permeability=20)),
    "spiral wrap": Twinax(length=1.0, stop_bands=(StopBand(frequency=20 * GHz, peak_db=3),)),
    "back-drilled via": VIAS["back-drilled"].value,
    "skewed pair": Differential(pair=TwinaxPair(cable=Twinax(length=1.0), skews=(2e-12, -1e-12, 3e-12))),
    "coupled pair": Differential(pair=TwinaxPair(cable=Twinax(length=1.0), skews=(4e-12,), coupling=0.2, even_delay=1.02)),
    **{f"interposer {name}": replace(entry.value, length=5 * mm) for name, entry in INTERPOSERS.items()},
    "assembly": Chain(ASSEMBLY),
    "HN-HH": Chain((*HOSTS["HN"].value, *ASSEMBLY, Chain(HOSTS["HH"].value).flipped)),
}


def _matched_cable(*, inductive=True, debye=True):
    """One metre of 26 AWG, matched; without its internal inductance or with a constant loss tangent on request."""
    z, y = Twinax(length=1.0).immittances(F)
    delay = np.sqrt(1.70) / materials.C0
    w = 2 * np.pi * F
    if not inductive:
        z = z.real + 1j * w * 100.0 * delay
    if not debye:
        y = 1j * w * delay / 100.0 * (1 - 3e-4j)
    return np.exp(-np.sqrt(z * y))


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_every_copper_model_is_causal(path):
    assert phase_residual(F, path.s(F, 100.0)[1, 0]) < 0.1 * RESIDUAL_LIMIT


@pytest.mark.parametrize(
    "broken",
    [{"inductive": False}, {"debye": False}, {"inductive": False, "debye": False}],
    ids=["resistance only", "constant loss tangent", "both"],
)
def test_broken_models_are_found(broken):
    assert phase_residual(F, _matched_cable()) < 1e-4
    assert phase_residual(F, _matched_cable(**broken)) > 1.3 * RESIDUAL_LIMIT


def test_broken_models_cannot_be_seen_in_the_loss():
    at = np.searchsorted(F, 53.12 * GHz)
    whole, broken = (np.abs(_matched_cable(inductive=x, debye=x)[at]) for x in (True, False))
    assert abs(20 * np.log10(whole / broken)) < 0.1


def test_residual_ignores_delay_polarity_and_the_dc_point():
    h = Twinax(length=1.0).s(F, 100.0)[1, 0]
    base = phase_residual(F, h)
    assert phase_residual(F, -h * np.exp(-2j * np.pi * F * 7e-9)) == pytest.approx(base, abs=1e-6)
    with_dc = np.concatenate([[0], F])
    assert phase_residual(with_dc, Twinax(length=1.0).s(with_dc, 100.0)[1, 0]) == pytest.approx(base, abs=1e-4)


def test_residual_measures_a_phase_that_loss_does_not_explain():
    bump = 0.1 * np.exp(-(((F - 30 * GHz) / (3 * GHz)) ** 2))
    h = Twinax(length=1.0).s(F, 100.0)[1, 0] * np.exp(1j * bump)
    assert 0.05 < phase_residual(F, h) < 0.11


@pytest.mark.parametrize(
    ("f", "h"),
    [
        (F[:8], np.ones(8)),
        (F, np.ones(5)),
        (F**1.1, np.ones(F.size)),
        (F + 1e9, np.ones(F.size)),
        (F[::-1], np.ones(F.size)),
        (F, np.zeros(F.size)),
        (F, np.full(F.size, np.nan)),
    ],
)
def test_residual_rejects(f, h):
    with pytest.raises(ValueError, match="phase_residual"):
        phase_residual(f, h)


def test_energy_before_zero_finds_a_negative_delay():
    f = np.arange(5001) * 10e6
    h = Twinax(length=1.0).s(f, 100.0)[1, 0]
    assert energy_before_zero(f, h) < 1e-6
    early = h * np.exp(2j * np.pi * f * 4.5e-9)
    assert energy_before_zero(f, early) > 0.5
    assert energy_before_zero(f, 1e-200 * early) == pytest.approx(energy_before_zero(f, early))
    assert energy_before_zero(f, 0 * h) == 0
    with pytest.raises(ValueError, match="uniform"):
        energy_before_zero(f[1:], h[1:])


def test_passivity_and_reciprocity():
    unitary = np.array([[0.6, 0.8j], [0.8j, 0.6]])[..., None]
    assert passivity(unitary) == pytest.approx(1, abs=1e-14)
    assert passivity(1.1 * unitary) == pytest.approx(1.1)
    assert reciprocity(unitary) == 0
    isolator = np.zeros((2, 2, 3))
    isolator[1, 0] = 0.7
    assert reciprocity(isolator) == 0.7


def test_the_line_of_the_standard_is_causal_because_of_its_logarithm():
    line = StandardLine(length=300 * mm, impedance=100.0, a2=2.5e-4 * ns / mm, tau=6e-3 * ns / mm)
    h = line.s(F, 100.0)[1, 0]
    assert phase_residual(F, h) < 1e-6
    assert phase_residual(F, np.abs(h)) > RESIDUAL_LIMIT
