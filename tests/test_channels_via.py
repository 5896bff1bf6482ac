"""Vias: where the stub resonates, what is left without one, and every field against a wrong value."""

from dataclasses import replace

import numpy as np
import pytest

from channels.causality import energy_before_zero, passivity, reciprocity
from channels.copper import ShuntCapacitor
from channels.via import Via
from dsp.units import GHz, db, fF, mm, um

F = np.concatenate([[0.0], np.geomspace(1e3, 200 * GHz, 300)])
VIA = Via(length=1.5 * mm, stub=0.5 * mm, impedance=92.0, permittivity=3.3, pads=(12 * fF, 10 * fF))


@pytest.mark.parametrize(("stub", "resonance"), [(0.25, 165), (0.5, 82), (1.0, 41)])
def test_stub_resonates_where_it_is_a_quarter_wave(stub, resonance):
    via = replace(VIA, stub=stub * mm, length=0.0, pads=(0.0, 0.0))
    np.testing.assert_allclose(via.stub_resonance / GHz, resonance, rtol=7e-3)
    f = np.linspace(0.9, 1.1, 2001) * via.stub_resonance
    h = np.abs(via.s(f, 100.0)[1, 0])
    np.testing.assert_allclose(f[np.argmin(h)], via.stub_resonance, rtol=5e-3)
    assert db(np.min(h)) < -35
    assert Via(length=1 * mm, impedance=92.0, permittivity=3.3).stub_resonance == np.inf


def test_pads_load_the_barrel_down():
    """An effective permittivity of 6 brings the notch down by sqrt(6 / 3.3)."""
    np.testing.assert_allclose(VIA.stub_resonance / replace(VIA, permittivity=6.0).stub_resonance, np.sqrt(6 / 3.3), rtol=1e-12)


def test_a_short_stub_is_a_capacitor():
    """c of the open line, single-ended twice the differential value."""
    via = Via(length=0.0, stub=0.1 * mm, impedance=92.0, permittivity=3.3, loss_tangent=0.0)
    capacitance = 2 * np.sqrt(3.3) / 299792458.0 / 92.0 * 0.1 * mm
    f = np.array([1.0, 5.0]) * GHz
    np.testing.assert_allclose(via.s(f, 100.0), ShuntCapacitor(capacitance=capacitance).s(f, 100.0), atol=1e-4)


def test_without_length_stub_and_pads_nothing_is_there():
    via = Via(length=0.0, impedance=92.0, permittivity=3.3)
    np.testing.assert_allclose(via.s(F, 100.0)[1, 0], 1, atol=1e-12)
    two = Via(length=1 * mm, impedance=92.0, permittivity=3.3)
    half = replace(two, length=0.5 * mm)
    np.testing.assert_allclose((half @ half).s(F, 100.0), two.s(F, 100.0), atol=1e-12)


def test_via_is_passive_reciprocal_causal_and_exact_at_dc():
    s = VIA.s(F, 100.0)
    assert passivity(s) < 1 + 1e-12
    assert reciprocity(s) < 1e-13
    wall = VIA.resistivity / (np.pi * VIA.diameter * VIA.wall)
    x = 2 * wall * VIA.length / 100.0
    np.testing.assert_allclose(s[1, 0, 0], 2 / (2 + x), rtol=1e-12)
    f = np.arange(20001) * 10e6
    assert energy_before_zero(f, VIA.s(f, 100.0)[1, 0]) < 1e-6
    assert hash(VIA) == hash(replace(VIA))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("length", -1.0),
        ("length", 1.5),
        ("stub", -1.0),
        ("stub", 0.5),
        ("impedance", 0.0),
        ("permittivity", 0.5),
        ("loss_tangent", -0.1),
        ("diameter", 0.0),
        ("diameter", 0.2),
        ("wall", 0.0),
        ("wall", 200 * um),
        ("pads", (1e-15,)),
        ("pads", (1e-15,) * 3),
        ("pads", (12.0, 12.0)),
        ("pads", 12e-15),
        ("resistivity", 0.0),
    ],
)
def test_wrong_values_name_the_field(field, value):
    with pytest.raises(ValueError, match=field):
        replace(VIA, **{field: value})
