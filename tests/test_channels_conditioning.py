import json

import numpy as np
import pytest

from channels import conditioning
from channels.conditioning import Conditioning, condition
from channels.network import renormalise
from channels.touchstone import read_touchstone

Z = (50.0, 50.0)


def line(f, delay=1e-9, skin=3e-6, sign=1.0):
    """A matched line with skin effect, in closed form: causal, S21(0) = 1, step response erfc."""
    w = 2j * np.pi * np.asarray(f)
    h = sign * np.exp(-skin * np.sqrt(w) - w * delay)
    return np.array([[0 * h, h], [h, 0 * h]])


def prepared(f, s=None, **choices):
    return condition(f, line(f) if s is None else s, Z, Conditioning(**choices))


def codes(conditioned):
    return [f.code for f in conditioned.findings]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dc", "guess"),
        ("dc_resistance", -1.0),
        ("dc_resistance", 1.0),
        ("dc_resistance", np.inf),
        ("remove_delay", 1),
        ("taper", 0.6),
        ("taper", -0.1),
        ("clip_passivity", "yes"),
        ("average_reciprocity", None),
    ],
)
def test_conditioning_refuses_a_bad_field(field, value):
    with pytest.raises(ValueError, match=f"Conditioning.{field}"):
        Conditioning(**{field: value})


@pytest.mark.parametrize(
    "f",
    [
        np.arange(0, 4001) * 10e6,
        np.arange(1, 801) * 50e6,
        np.geomspace(1e6, 40e9, 800),
        np.concatenate([np.arange(1, 100) * 1e6, np.arange(2, 801) * 50e6]),
    ],
    ids=["dc", "no dc", "log", "segments"],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_line_is_restored_between_and_below_its_points(f, sign):
    c = prepared(f, line(f, sign=sign))
    g = np.linspace(0, 40e9, 3777)
    assert c.delay == pytest.approx(1e-9, abs=0.05e-9)
    np.testing.assert_allclose(c.response(g)[1, 0], line(g, sign=sign)[1, 0], atol=2e-3)
    assert c.response(np.zeros(1))[1, 0, 0] == pytest.approx(sign, abs=1e-4)
    assert ("no-dc" in codes(c)) is bool(f[0] > 0)
    assert ("non-uniform" in codes(c)) is not conditioning.is_uniform(f)


def test_the_points_of_the_data_are_kept():
    f = np.arange(0, 500) * 40e6
    np.testing.assert_allclose(prepared(f).response(f), line(f), atol=1e-12)


def test_removing_the_delay_is_what_makes_a_coarse_grid_usable():
    f, g = np.arange(0, 201) * 200e6, np.linspace(0, 39e9, 1999)
    error = [np.max(np.abs(prepared(f, remove_delay=r).response(g)[1, 0] - line(g)[1, 0])) for r in (True, False)]
    assert error[0] < 0.01
    assert error[1] > 5 * error[0]


@pytest.mark.parametrize("delay", [-0.05e-9, 0.0, 3e-9, 17e-9])
def test_bulk_delay_of_a_pure_delay_is_exact(delay):
    f = np.arange(0, 400) * 50e6
    assert conditioning.bulk_delay(f, np.exp(-2j * np.pi * f * delay)) == pytest.approx(delay, abs=1e-15)
    f = np.geomspace(1e6, 20e9, 500)
    if delay < 4e-9:
        assert conditioning.bulk_delay(f, np.exp(-2j * np.pi * f * delay)) == pytest.approx(delay, abs=1e-14)


@pytest.mark.parametrize("resistance", [0.0, 4.0])
def test_series_resistance_sets_the_dc_point_at_any_reference(resistance):
    """Seen on 85 ohm the DC point is again that of the same resistor."""
    f = np.arange(1, 200) * 50e6
    c = prepared(f, dc="series_resistance", dc_resistance=resistance)
    for z in (50.0, 85.0):
        dc = renormalise(c.response(np.zeros(1)), Z, z)[:, :, 0]
        assert dc[1, 0] == pytest.approx(2 / (2 + resistance / z))
        assert dc[0, 0] == pytest.approx(resistance / z / (2 + resistance / z))
    assert "series resistance" in c.dc_method


def test_a_resistive_line_without_dc_point_gives_its_resistance():
    """Loss c + k sqrt(jf): the fit finds c whatever the delay."""
    f = np.arange(1, 400) * 20e6
    c = prepared(f, 0.95 * line(f, delay=8e-9))
    assert c.response(np.zeros(1))[1, 0, 0] == pytest.approx(0.95, abs=1e-6)


def test_a_path_that_rises_from_dc_is_open_there():
    f = np.arange(1, 400) * 20e6
    high_pass = 1j * f / (1j * f + 200e6)
    s = np.array([[1 - high_pass, high_pass], [high_pass, 1 - high_pass]])
    c = prepared(f, s)
    assert c.response(np.zeros(1))[1, 0, 0] == 0
    assert "rises" in c.dc_method
    blocked = prepared(f, s, dc="blocked").response(np.zeros(1))[:, :, 0]
    np.testing.assert_allclose(blocked, np.eye(2), atol=1e-15)


def test_a_complex_dc_point_is_made_real_and_told():
    f = np.arange(0, 100) * 20e6
    s = line(f)
    s[1, 0, 0] = s[0, 1, 0] = np.exp(-0.05j)
    c = prepared(f, s)
    assert codes(c) == ["dc-complex"]
    assert c.response(np.zeros(1))[1, 0, 0] == pytest.approx(1.0)


def test_beyond_the_data_there_is_nothing_and_the_taper_leads_there():
    f = np.arange(0, 401) * 50e6
    g = np.array([10e9, 19e9, 20e9, 20.0001e9, 60e9])
    plain, tapered = prepared(f).response(g), prepared(f, taper=0.1).response(g)
    assert not plain[:, :, 3:].any()
    assert tapered[1, 0, 0] == plain[1, 0, 0]
    assert tapered[1, 0, 1] == pytest.approx(0.5 * plain[1, 0, 1])
    assert abs(tapered[1, 0, 2]) < 1e-12 < abs(plain[1, 0, 2])


def test_clipping_hides_a_small_excess_and_refuses_a_large_one():
    f = np.arange(0, 100) * 20e6
    s = line(f, skin=0.0)
    clipped = prepared(f, s * 1.0005, clip_passivity=True).response(f)
    assert np.max(np.linalg.svd(np.moveaxis(clipped, -1, 0), compute_uv=False)) < 1 + 1e-9
    with pytest.raises(ValueError, match="clip_passivity"):
        prepared(f, s * 1.01, clip_passivity=True)


def test_reciprocity_is_told_and_averaged_on_request():
    f = np.arange(0, 100) * 20e6
    s = line(f)
    s[0, 1] *= 0.9
    assert codes(prepared(f, s)) == ["not-reciprocal"]
    r = prepared(f, s, average_reciprocity=True).response(f)
    np.testing.assert_allclose(r[0, 1], r[1, 0], atol=1e-14)


def test_passivity_counts_and_places_the_excess():
    f = np.arange(0, 10) * 1e9
    s = line(f)
    s[:, :, 6] *= 1.2 / abs(s[1, 0, 6])
    largest, where, n, findings = conditioning.passivity_findings(f, s)
    assert (largest, where, n) == (pytest.approx(1.2), 6e9, 1)
    assert "6e+09" in findings[0].message


@pytest.mark.parametrize("delay", [-0.2e-9, 0.0, 1e-9, 6e-9])
def test_the_leading_edge_follows_the_delay(delay):
    f = np.arange(0, 1001) * 50e6
    edge = prepared(f, line(f, delay, skin=1e-8)).leading_edge()
    assert edge == pytest.approx(delay, abs=2e-12)


@pytest.mark.parametrize("corner", [1e5, 1e6, 10e6, 100e6])
def test_the_leading_edge_does_not_see_the_droop_of_a_dc_block(corner):
    f = np.arange(0, 4001) * 10e6
    s = line(f, 2e-9, skin=1e-7) * (1j * f / (1j * f + corner))
    assert prepared(f, s).leading_edge() == pytest.approx(2e-9, abs=5e-12)


@pytest.mark.parametrize("z", [(50.0, 50.0), (50.0, 75.0)])
def test_without_dc_a_line_is_a_resistance(z):
    # 2 ohm and a skin effect behind them, matched above: at DC only the resistance is left
    f, r = np.arange(1, 800) * 20e6, 2.0
    through = 2 * np.sqrt(z[0] * z[1]) / (z[0] + z[1] + r)
    s = np.array([[0 * f, f], [f, 0 * f]], complex)
    s[1, 0] = s[0, 1] = through * line(f, skin=1e-6)[1, 0]
    dc = condition(f, s, z, Conditioning()).response(np.zeros(1))[:, :, 0]
    assert dc[1, 0] == pytest.approx(through, abs=1e-3)
    assert dc[0, 0] == pytest.approx((z[1] + r - z[0]) / (z[0] + z[1] + r), abs=1e-3)
    assert dc[1, 1] == pytest.approx((z[0] + r - z[1]) / (z[0] + z[1] + r), abs=1e-3)


def test_early_energy_tells_a_negative_delay_from_a_positive_one():
    f = np.arange(0, 1001) * 50e6
    assert prepared(f, line(f, 0.3e-9)).early_energy() < 1e-4
    assert prepared(f, line(f, -0.3e-9)).early_energy() > 0.9


STEP_NAMES = ("reciprocity", "singular values", "bulk delay", "DC", "interpolation", "taper")


def step(conditioned, name):
    return dict(text.split(": ", 1) for text in conditioned.steps)[name]


def test_each_step_is_named_in_order():
    c = prepared(np.arange(1, 100) * 20e6)
    assert tuple(text.split(":")[0] for text in c.steps) == STEP_NAMES
    assert step(c, "interpolation") == "cubic, 8 points from 0 Hz on put below 20 MHz"


@pytest.mark.parametrize(
    ("choice", "name", "off", "on"),
    [
        (
            {"average_reciprocity": True},
            "reciprocity",
            "left as it is, |S12 - S21| was up to 0.05",
            "averaged, |S12 - S21| was up to 0.05",
        ),
        ({"clip_passivity": True}, "singular values", "left as they are", "clipped at 1, largest 1.0005 before and 1 after"),
        (
            {"remove_delay": False},
            "bulk delay",
            "1 ns removed before interpolation and put back",
            "1 ns kept",
        ),
        (
            {"dc": "series_resistance", "dc_resistance": 4.0},
            "DC",
            "S(0) extrapolated: ln S21 = c0 + c1 sqrt(jf) + c2 jf fitted to the lowest points, the rest that of a resistance",
            "S(0) series resistance of 4 ohm",
        ),
        ({"dc": "blocked"}, "DC", None, "S(0) blocked (open)"),
        ({"taper": 0.25}, "taper", "none; nothing beyond 4 GHz", "raised cosine from 3 GHz; nothing beyond 4 GHz"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_switch_is_reported_by_its_step_alone(choice, name, off, on):
    f = np.arange(1, 201) * 20e6
    s = line(f, skin=0.0) * 1.0005
    s[0, 1] -= 0.05 * s[0, 1] / np.abs(s[0, 1])
    plain, chosen = prepared(f, s), prepared(f, s, **choice)
    assert step(chosen, name) == on
    if off is not None:
        assert step(plain, name) == off
    assert [n for n in STEP_NAMES if step(plain, n) != step(chosen, n)] == [name]


def test_one_point_is_no_response():
    with pytest.raises(ValueError, match="2 points"):
        prepared(np.array([1e9]))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_few_points_are_enough_for_a_finite_answer(n):
    f = np.arange(1, n + 1) * 1e8
    response = prepared(f).response(np.linspace(0, 2e8, 50))
    assert np.all(np.isfinite(response))
    assert response[1, 0, 0].imag == 0


def pulse_response(c, symbol_rate, duration):
    """Response to one rectangular symbol of 1 V: times [s] and volts, by inverse FFT of the conditioned S21."""
    df = 1 / duration
    f = np.arange(0, 400e9, df)
    h = c.response(f)[1, 0] * np.sinc(f / symbol_rate) * np.exp(-1j * np.pi * f / symbol_rate)
    n = 2 * (f.size - 1)
    return np.arange(n) / (n * df), np.fft.irfft(h) * n * df / symbol_rate


@pytest.mark.parametrize("case_id", ["D20", "D21"])
def test_pulse_case(cases_dir, case_id):
    case = next(c for c in json.loads((cases_dir / "cases.json").read_text())["cases"] if c["id"] == case_id)
    data, expect, rate = read_touchstone(cases_dir / case["file"]), case["expect"]["pulse_response"], 26.5625e9
    c = condition(data.frequency, data.s, Z, Conditioning())
    assert "no-dc" in codes(c)
    assert ("non-uniform" in codes(c)) is (case_id == "D21")
    assert c.response(np.zeros(1))[1, 0, 0] == pytest.approx(1.0, abs=0.05)
    t, p = pulse_response(c, rate, 40e-9)
    k = int(np.argmax(p))
    assert p[k] == pytest.approx(expect["peak"], abs=expect["tol_abs"])
    assert t[k] == pytest.approx(expect["peak_time_s"], abs=expect["time_tol_s"])
    for offset, value in expect["cursors_at_peak_plus_n_UI"].items():
        assert np.interp(expect["peak_time_s"] + int(offset) / rate, t, p) == pytest.approx(value, abs=expect["tol_abs"])
