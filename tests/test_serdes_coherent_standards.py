"""Presets of coherent modules."""

import dataclasses

import pytest

from dsp.units import GBd, Gbps, km
from serdes.coherent_standards import NAMES, Module, module, sources
from serdes.coherent_statistical import CoherentStatistical, required_osnr_db


@pytest.mark.parametrize("name", NAMES)
def test_every_value_has_a_source(name):
    texts = sources(name)
    assert {"symbol_rate", "module_power", "dispersion"} <= set(texts)
    assert all(texts.values())
    m = module(name)
    assert m.net_rate < m.back_to_back().line_rate * m.code.rate * 1.01
    assert CoherentStatistical().run(m.back_to_back()).outcome == "ok"


def test_400zr_by_its_published_figures():
    m = module("400ZR")
    assert m.symbol_rate == 59.84375 * GBd
    assert m.back_to_back().line_rate == pytest.approx(478.75 * Gbps)
    assert m.energy == pytest.approx(46e-12, rel=0.01, abs=0)
    assert 4 < m.ageing_db() < 5.7  # 26 dB lies 5.1 to 5.7 dB over simulated and theoretical receivers
    assert 20.35 < required_osnr_db(m.back_to_back()) < 21.5


def test_400zr_needs_a_booster_at_120_km():
    """-10 dBm into 120 km leaves an OSNR below the 26 dB asked for; 0 dBm does not."""
    m = module("400ZR")
    low, high = m.amplified(120 * km), m.amplified(120 * km, 1, 0.0)
    assert low.channel.osnr_db(low.tx.power) < 20
    assert high.channel.osnr_db(high.tx.power) > 26
    assert CoherentStatistical().run(low).margin_db < m.ageing_db() < CoherentStatistical().run(high).margin_db


def test_dispersion_limits():
    assert module("400ZR").dispersion_reach() == pytest.approx(137 * km, rel=0.01)
    assert module("800LR").dispersion_reach() > 10 * km


def test_unamplified_budgets():
    m = module("400ZR")
    assert m.unamplified_power_dbm - m.unamplified_sensitivity_dbm == 11
    assert m.unamplified_reach() == pytest.approx(52.5 * km, rel=0.01)
    assert CoherentStatistical().run(m.unamplified(40 * km)).outcome == "ok"
    assert module("800ZR").unamplified_reach() == 0


def test_no_amplifier_where_one_is_needed_is_refused():
    with pytest.raises(ValueError, match="needs an amplifier"):
        module("800ZR").unamplified(10 * km)
    with pytest.raises(ValueError, match="amplified spans"):
        module("800LR").amplified(10 * km)
    with pytest.raises(ValueError, match=r"module\.name"):
        module("ZR")


BAD = {
    "name": 1, "title": 1, "code": "CFEC", "net_rate": 0.0, "symbol_rate": 60.0, "spacing": 50e9, "power_dbm": 50.0,
    "dispersion": 2400.0, "dgd": 10.0, "linewidth": -1.0, "offset": -1.0, "transmit_osnr_db": 0.0, "module_power": 0.0,
    "spans": -1, "sensitivity_dbm": 90.0, "unamplified_power_dbm": 90.0, "unamplified_sensitivity_dbm": 90.0,
    "required_osnr_db": 0.0,
}  # fmt: skip


def test_bad_values_are_named():
    assert set(BAD) == {f.name for f in dataclasses.fields(Module)}
    for field, value in BAD.items():
        with pytest.raises(ValueError, match=f"Module.{field}"):
            dataclasses.replace(module("400ZR"), **{field: value})
