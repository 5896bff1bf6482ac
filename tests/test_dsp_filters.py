import numpy as np
import pytest

from dsp.filters import Ctle, bessel_thomson4, butterworth4, gaussian_edge, zero_order_hold
from dsp.units import GHz, db, ps

F = np.linspace(0, 100, 401) * GHz
CTLE = {"zero": 20 * GHz, "pole1": 20 * GHz, "pole2": 50 * GHz, "low_frequency_pole": 0.6 * GHz, "gains_db": (0.0, -6.0)}


@pytest.mark.parametrize("low_pass", [butterworth4, bessel_thomson4])
def test_low_pass_is_one_at_zero_and_half_power_at_its_bandwidth(low_pass):
    h = low_pass(np.array([0, 40 * GHz, -40 * GHz, 4e4 * GHz]), 40 * GHz)
    assert h[0] == 1
    assert np.abs(h[1]) ** 2 == pytest.approx(0.5, rel=1e-5)
    assert h[2] == np.conj(h[1])
    # Four poles: 80 dB a decade.
    assert db(low_pass(np.array([4e5 * GHz]), 40 * GHz)[0]) - db(h[3]) == pytest.approx(-80, abs=0.01)


def test_butterworth_is_maximally_flat():
    h = butterworth4(F, 40 * GHz)
    assert np.abs(h) ** -2 - 1 == pytest.approx((F / 40e9) ** 8, rel=2e-5, abs=1e-5)


def test_bessel_thomson_has_a_flat_group_delay():
    f = np.linspace(0, 30, 301) * GHz
    delay = -np.diff(np.unwrap(np.angle(bessel_thomson4(f, 40 * GHz)))) / np.diff(f) / (2 * np.pi)
    assert delay == pytest.approx(2.1139 / (2 * np.pi * 40e9), rel=1e-2, abs=0)


def test_gaussian_edge_has_its_rise_time():
    f = np.arange(0, 20001) * 20e6
    h = gaussian_edge(f, 10 * ps)
    t = np.linspace(-30, 30, 2001) * ps
    step = 0.5 + np.array([np.trapezoid(h * 2 * t0 * np.sinc(2 * f * t0), f) for t0 in t])
    rise = np.interp(0.8, step, t) - np.interp(0.2, step, t)
    assert rise == pytest.approx(10 * ps, rel=2e-3, abs=0)
    assert np.all(gaussian_edge(f, 0.0) == 1)


def test_hold_is_real_and_has_nulls_at_the_symbol_rate():
    h = zero_order_hold(np.array([0.0, 0.5, 1, 2, -0.5]) * 50 * GHz, 20 * ps)
    assert h == pytest.approx([1, 2 / np.pi, 0, 0, 2 / np.pi], abs=1e-15)


def test_ctle_gains_and_limits():
    ctle = Ctle(**CTLE, low_gains_db=(0.0, -2.0, -4.0))
    assert ctle.candidates == ((0.0, 0.0), (0.0, -2.0), (0.0, -4.0), (-6.0, 0.0), (-6.0, -2.0), (-6.0, -4.0))
    assert db(ctle.transfer(np.zeros(1), -6.0, -4.0))[0] == pytest.approx(-10)
    # Well above f_LF the second stage is gone; a low gain of 0 dB removes it everywhere.
    top = np.array([500 * GHz])
    assert ctle.transfer(top, -6.0, -4.0) == pytest.approx(ctle.transfer(top, -6.0), rel=1e-3)
    other = Ctle(**CTLE | {"low_frequency_pole": 5 * GHz})
    assert other.transfer(F, -6.0) == pytest.approx(ctle.transfer(F, -6.0), rel=1e-14)
    # 0 dB with zero on the first pole is a single pole.
    assert ctle.transfer(F, 0.0) == pytest.approx(1 / (1 + 1j * F / (50 * GHz)))


def test_ctle_is_a_value():
    assert Ctle(**CTLE) == Ctle(**CTLE)
    assert hash(Ctle(**CTLE)) == hash(Ctle(**CTLE))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("zero", 0),
        ("pole1", -1.0),
        ("pole2", float("nan")),
        ("low_frequency_pole", "x"),
        ("gains_db", ()),
        ("gains_db", [0.0]),
        ("low_gains_db", (float("inf"),)),
    ],
)
def test_bad_ctle(field, value):
    with pytest.raises(ValueError, match=f"Ctle.{field}"):
        Ctle(**CTLE | {field: value})


@pytest.mark.parametrize(
    "call",
    [
        lambda: butterworth4(F, 0),
        lambda: bessel_thomson4(F, -1),
        lambda: gaussian_edge(F, -1 * ps),
        lambda: zero_order_hold(F, 0),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError, match="must be"):
        call()
