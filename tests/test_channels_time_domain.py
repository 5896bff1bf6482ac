from dataclasses import dataclass

import numpy as np
import pytest

from channels.channel_set import ChannelSet
from channels.copper import CopperChannel
from channels.file_network import check_rate
from channels.network import MultiPort, abcd_to_s, renormalise
from channels.time_domain import highest_rate, impedance_profile, pulse, pulse_findings, step_response

F_MAX = 50e9
EDGE = 1 / F_MAX


@dataclass(frozen=True)
class Line(MultiPort):
    """An ideal line: impedance [ohm] and delay [s]."""

    impedance: float
    delay: float

    @property
    def n_ports(self):
        return 2

    def _s(self, f, z0):
        turn = np.exp(-2j * np.pi * f * self.delay)
        zero = np.zeros_like(turn)
        return renormalise(np.array([[zero, turn], [turn, zero]]), self.impedance, z0)


@dataclass(frozen=True)
class Shunt(MultiPort):
    """A capacitance [F] across the line."""

    capacitance: float

    @property
    def n_ports(self):
        return 2

    def _s(self, f, z0):
        one, zero = np.ones(f.size, complex), np.zeros(f.size, complex)
        return abcd_to_s(np.array([[one, zero], [2j * np.pi * f * self.capacitance, one]]), z0)


def profile(part, end="left", z0=100.0, duration=4e-9):
    return impedance_profile(part, f_max=F_MAX, duration=duration, end=end, z0=z0)


@pytest.mark.parametrize("impedance", [60.0, 92.5, 100.0, 140.0])
def test_a_line_shows_its_impedance_for_its_round_trip(impedance):
    shown = profile(Line(impedance, 1e-9))
    plateau = (shown.time > 2 * EDGE) & (shown.time < 2e-9 - 2 * EDGE)
    np.testing.assert_allclose(shown.impedance[plateau], impedance, rtol=1e-3)
    assert shown.impedance[0] == pytest.approx(100.0, rel=1e-3)
    assert (shown.reference, shown.end, shown.rise_time) == (100.0, "left", EDGE)


def test_the_end_behind_a_line_shows_with_the_echo_of_its_near_end():
    rho = (60 - 100) / 160
    shown = profile(Line(60.0, 1e-9))
    behind = shown.between(2e-9 + 2 * EDGE, 4e-9 - 2 * EDGE)
    second = rho - rho * (1 - rho**2)  # what passes in, is reflected at the far end and passes out again
    assert behind == pytest.approx(100 * (1 + second) / (1 - second), rel=1e-3)


def test_a_mismatch_stands_at_twice_its_delay():
    line = Line(100.0, 0.7e-9) @ Line(80.0, 0.5e-9) @ Line(100.0, 0.3e-9)
    shown = profile(line)
    assert shown.between(0.1e-9, 1.3e-9) == pytest.approx(100.0, rel=1e-4)
    assert shown.between(1.45e-9, 2.35e-9) == pytest.approx(80.0, rel=1e-3)
    first = shown.time[np.argmax(shown.impedance < 90.0)]
    assert first == pytest.approx(2 * 0.7e-9, abs=2e-12)
    from_right = profile(line, "right")
    assert from_right.time[np.argmax(from_right.impedance < 90.0)] == pytest.approx(2 * 0.3e-9, abs=2e-12)


def test_a_small_capacitance_has_the_area_of_its_reflection():
    # rho(t) of a shunt C integrates to -C z0 / 2
    z0, capacitance = 100.0, 20e-15
    step = step_response(Line(z0, 0.5e-9) @ Shunt(capacitance), 0, 0, f_max=F_MAX, duration=2e-9, z0=z0)
    assert np.trapezoid(step.value, step.time) == pytest.approx(-capacitance * z0 / 2, rel=0.02, abs=0)


def test_the_step_ends_at_the_dc_value_and_begins_at_nothing():
    step = step_response(Line(60.0, 1e-9), 1, 0, f_max=F_MAX, duration=20e-9)
    assert step.value[-1] == pytest.approx(1.0, abs=1e-3)
    assert np.max(np.abs(step.value[step.time < 1e-9 - 2 * EDGE])) < 1e-3
    crossing = step.time[np.argmax(step.value > 0.5 * (1 - (40 / 160) ** 2))]
    assert crossing == pytest.approx(1e-9, abs=3e-12)


def test_the_edge_has_the_rise_time_asked_for():
    step = step_response(Line(100.0, 1e-9), 1, 0, f_max=200e9, duration=4e-9, rise_time=30e-12)
    low, high = (step.time[np.argmax(step.value > level)] for level in (0.2, 0.8))
    assert high - low == pytest.approx(30e-12, rel=0.03, abs=0)


def test_open_and_short_ends_stay_finite():
    for impedance in (1e-6, 1e9):
        assert np.all(np.isfinite(profile(Line(100.0, 0.5e-9) @ Line(impedance, 1e-9)).impedance))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"f_max": 0.0}, "f_max"),
        ({"f_max": np.nan}, "f_max"),
        ({"duration": -1e-9}, "duration"),
        ({"rise_time": 0.0}, "rise_time"),
        ({"end": "top"}, "end"),
        ({"z0": -50.0}, "z0"),
    ],
)
def test_bad_arguments_are_refused(change, field):
    with pytest.raises(ValueError, match=field):
        impedance_profile(Line(50.0, 1e-9), **{"f_max": F_MAX, "duration": 1e-9, **change})
    with pytest.raises(ValueError, match="within"):
        profile(Line(50.0, 1e-9)).between(1.0, 2.0)
    with pytest.raises(ValueError, match="into"):
        step_response(Line(50.0, 1e-9), 0, 2, f_max=F_MAX, duration=1e-9)


def test_the_pulse_of_a_line_has_the_area_of_the_symbol_at_the_delay_of_the_line():
    channel = CopperChannel(parts=(Line(100.0, 2e-9),))
    shown = pulse(channel, 26.5625e9)
    assert np.sum(shown.samples) / 32 == pytest.approx(1.0, abs=1e-9)
    assert shown.polarity == 1.0
    # the filter's delay is 2.6131 / (2 pi bandwidth) at low frequency, the symbol's half a unit interval
    centroid = np.sum(shown.t * shown.samples) / np.sum(shown.samples)
    assert centroid == pytest.approx(2e-9 + 0.5 / 26.5625e9 + 2.613126 / (2 * np.pi * 0.75 * 26.5625e9), abs=1e-13)


def test_a_pulse_is_narrower_than_its_data_allow_or_it_is_told():
    channel = CopperChannel(parts=(Line(100.0, 1e-9),))
    assert pulse_findings(channel, 10e9, 40e9) == ()
    assert [f.code for f in pulse_findings(channel, 53.125e9, 30e9)] == ["band-edge"]
    with pytest.raises(ValueError, match="GBd"):
        pulse(channel, 53.125)
    with pytest.raises(ValueError, match="f_max"):
        highest_rate(-1.0)


FOLDERS = (
    "ck_backplane_dpo10in",
    "ck_backplane_dpo4in",
    "ck_c2c_sysvia",
    "ck_c2m_il14",
    "ck_cable_ca19p75",
    "portorder_1324",
    "synthetic_224g",
)


def test_no_channel_is_left_out(channels_dir):
    assert {p.name for p in channels_dir.iterdir() if p.is_dir()} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_channel_gives_a_pulse_at_the_rate_its_bandwidth_allows(channels_dir, folder):
    found = ChannelSet.of_folder(channels_dir / folder)
    assert found.failures == ()
    for network in found.networks:
        assert network.port_map.inputs == (((1, 2),) if folder == "portorder_1324" else ((1, 3),))
        rate = highest_rate(network.report.f_max)
        assert not {f.code for f in check_rate(network, rate)} & {"near-nyquist", "below-nyquist"}
        shown = pulse(CopperChannel(parts=(network,)), rate, samples_per_symbol=16)
        assert np.all(np.isfinite(shown.samples))
        assert shown.tail < 0.01
        assert np.sum(shown.samples) / 16 == pytest.approx(network.report.s21_dc.real, abs=1e-9)
    shown = pulse(CopperChannel(parts=(found.victim,)), highest_rate(found.victim.report.f_max))
    assert shown.polarity == 1.0
    assert shown.samples[shown.peak] > 0.1
    assert shown.t[shown.peak] == pytest.approx(found.victim.report.leading_edge, abs=4 / shown.grid.symbol_rate)
