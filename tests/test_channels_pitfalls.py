"""What goes wrong between an S-parameter file and its pulse, on a channel of our own, and the finding that warns of it.

The channel: 224G, light hosts (HL) at both ends of 1.5 m of 26 AWG, die to die. Each row: the effect on the main cursor h0
where the data are used as they are, what our reading makes of it, and the finding.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from channels import materials
from channels.channel import LinearChannel
from channels.conditioning import Conditioning
from channels.copper import CopperChannel, Twinax
from channels.file_network import FileNetwork, check_rate
from channels.network import Chain, renormalise
from channels.port_map import PortMap, named
from channels.time_domain import impedance_profile, pulse, pulse_findings
from channels.touchstone import TouchstoneError, write_touchstone
from dsp import filters
from serdes.setups import setup

RATE, BANDWIDTH, EDGE, LOAD = 106.25e9, 0.55 * 106.25e9, 4e-12, 46.25
Z0 = 2 * LOAD
LINK = setup("224G").link(1.5, hosts=("HL", "HL"), crosstalk=False)
PART = Chain(LINK.channel.parts)
F = np.arange(0, 4501) * 20e6
FINE = np.arange(0, 9001) * 10e6


@functools.cache
def response(step=20e6):
    return PART.s(np.arange(0, 90e9 + 1, step), Z0)


@dataclass(frozen=True)
class Edged(LinearChannel):
    """A channel behind the transmitter's edge."""

    channel: LinearChannel

    def transfer(self, f):
        return self.channel.transfer(f) * filters.gaussian_edge(f, EDGE)

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


@dataclass(frozen=True, eq=False)
class Sampled(LinearChannel):
    """A response at given points, interpolated with straight lines: the careless way."""

    f: np.ndarray
    h: np.ndarray
    polar: bool = False

    def transfer(self, f):
        if self.polar:
            size, phase = np.interp(f, self.f, np.abs(self.h)), np.interp(f, self.f, np.unwrap(np.angle(self.h)))
            return np.where(f <= self.f[-1], size * np.exp(1j * phase), 0)
        return np.where(f <= self.f[-1], np.interp(f, self.f, self.h), 0)

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


@dataclass(frozen=True)
class Blanked(LinearChannel):
    """A channel with nothing below ``f_min``."""

    channel: LinearChannel
    f_min: float

    def transfer(self, f):
        return np.where(f < self.f_min, 0, self.channel.transfer(f))

    def noise_psd(self, f, drive=None):
        return np.zeros(np.shape(f))


def shown(channel, **keys):
    return pulse(Edged(channel), RATE, bandwidth=BANDWIDTH, **keys)


def h0(channel, **keys):
    p = shown(channel, **keys)
    return float(p.samples[p.peak])


@functools.cache
def true_h0():
    return h0(LINK.channel)


def change(channel, **keys):
    """Change of h0 [%]."""
    return 100 * (h0(channel, **keys) / true_h0() - 1)


def channel(net):
    return CopperChannel(parts=(net,), source_resistance=LOAD, load_resistance=LOAD)


def opened(tmp_path, f=F, s=None, **keys):
    path = tmp_path / "channel.s2p"
    write_touchstone(path, f, PART.s(f, Z0) if s is None else s, Z0)
    return FileNetwork.open(path, **keys)


def codes(net):
    """All findings on the file, on its use at this rate, and on its pulse."""
    found = check_rate(net, RATE) + pulse_findings(channel(net), RATE, net.report.f_max)
    return {f.code for f in found} - {"single-ended"}


def test_the_channel_itself_has_no_finding(tmp_path):
    assert true_h0() == pytest.approx(0.246, abs=0.001)
    net = opened(tmp_path)
    assert abs(change(channel(net))) < 0.01
    assert codes(net) <= {"phase-step"}
    assert codes(opened(tmp_path, FINE)) == set()


@pytest.mark.parametrize(
    ("f_max", "effect", "finding"),
    [
        (40e9, -6.9, "below-nyquist"),
        (53e9, -1.8, "below-nyquist"),
        (60e9, -0.74, "near-nyquist"),
        (67e9, -0.22, "band-edge"),
        (80e9, -0.01, None),
    ],
)
def test_too_little_bandwidth(tmp_path, f_max, effect, finding):
    net = opened(tmp_path, F[f_max >= F], response()[:, :, f_max >= F])
    assert change(channel(net)) == pytest.approx(effect, rel=0.15, abs=0.05)
    if finding is None:
        assert codes(net) <= {"phase-step"}
    else:
        assert {finding, "band-edge"} <= codes(net)


@pytest.mark.parametrize(("f_max", "effect"), [(40e9, -9.6), (53e9, -3.4), (60e9, -1.7), (80e9, -0.09)])
def test_a_taper_costs_more_than_the_ringing_it_removes(tmp_path, f_max, effect):
    net = opened(tmp_path, F[f_max >= F], response()[:, :, f_max >= F], conditioning=Conditioning(taper=0.1))
    plain = opened(tmp_path, F[f_max >= F], response()[:, :, f_max >= F])
    assert 1.2 * effect < change(channel(net)) < change(channel(plain))


def test_ringing_before_the_pulse_where_the_band_is_cut(tmp_path):
    net = opened(tmp_path, F[F <= 40e9], response()[:, :, F <= 40e9])
    p = shown(channel(net))
    early = p.samples[p.t < p.t[p.peak] - 12 / RATE]
    assert -60 < 20 * np.log10(np.max(np.abs(early)) / p.samples[p.peak]) < -35
    assert "below-nyquist" in codes(net)


@pytest.mark.parametrize(("f_min", "effect"), [(10e6, -0.04), (50e6, -0.33), (100e6, -0.69), (300e6, -2.1)])
def test_data_missing_below_the_first_point(tmp_path, f_min, effect):
    zeros = Blanked(LINK.channel, f_min)
    p = shown(zeros)
    assert change(zeros) == pytest.approx(effect, rel=0.15, abs=0.05)
    assert abs(np.sum(p.samples) / 32) < 1e-9  # its sum is H(0): baseline wander without end
    net = opened(tmp_path, FINE[f_min <= FINE], response(10e6)[:, :, f_min <= FINE])
    assert abs(change(channel(net))) < 0.1
    whole = np.sum(shown(channel(net)).samples) / 32
    assert whole == pytest.approx(float(np.real(LINK.channel.transfer(np.zeros(1)))[0]), abs=2e-2)
    assert whole == pytest.approx(net.s(np.zeros(1), Z0)[1, 0, 0].real, abs=1e-3)
    assert "no-dc" in codes(net)


def test_zeros_below_the_first_point_in_the_file(tmp_path):
    net = opened(tmp_path, FINE, np.where(FINE < 100e6, 0, response(10e6)))
    assert "ac-coupled" in codes(net)


def test_a_step_so_coarse_that_the_pulse_wraps(tmp_path):
    f = F[::10]  # 200 MHz: a record of 5 ns for a delay of 7.2 ns
    net = opened(tmp_path, f, response()[:, :, ::10])
    p, true = shown(channel(net)), shown(LINK.channel)
    assert true.t[true.peak] - p.t[p.peak] == pytest.approx(5e-9, abs=2e-12)
    assert abs(change(channel(net))) < 0.1, "the height looks right"
    assert "coarse-step" in codes(net)


def test_straight_lines_through_a_turning_phase(tmp_path):
    f, s = F[::5], response()[:, :, ::5]  # 100 MHz
    assert change(Sampled(f, s[1, 0])) == pytest.approx(-22.7, abs=8)
    with_delay = opened(tmp_path, f, s, conditioning=Conditioning(remove_delay=False))
    assert change(channel(with_delay)) < -2
    without = opened(tmp_path, f, s)
    assert abs(change(channel(without))) < 0.64
    assert {"phase-step", "coarse-step"} <= codes(without)


def test_polar_interpolation_that_is_right_by_luck(tmp_path):
    f, h = F[::5], response()[1, 0, ::5]
    net = opened(tmp_path, f, response()[:, :, ::5])
    assert abs(change(Sampled(f, h, polar=True))) < 3
    true, p = shown(LINK.channel), shown(Sampled(f, h, polar=True))
    assert abs(p.t[p.peak] - true.t[true.peak]) > 1e-9, "but the delay is that of a phase that unwrapped the wrong way"
    assert net.report.phase_step > np.pi / 4
    assert "phase-step" in codes(net)


def test_a_logarithmic_grid(tmp_path):
    f = np.geomspace(10e6, 90e9, 3000)
    h = PART.s(f, Z0)
    as_if_uniform = Sampled(np.linspace(0, 90e9, f.size), h[1, 0])
    assert abs(change(as_if_uniform)) > 20
    net = opened(tmp_path, f, h)
    assert abs(change(channel(net))) < 0.1
    assert "non-uniform" in codes(net)


def four_port(tmp_path, s):
    """Both wires of the pair as uncoupled paths 1-2 and 3-4 with the differential response."""
    full = np.zeros((4, 4, s.shape[-1]), complex)
    for a, b in ((0, 1), (2, 3)):
        full[np.ix_((a, b), (a, b))] = s
    path = tmp_path / "channel.s4p"
    write_touchstone(path, F[::4], full, LOAD)
    return path


def test_the_other_port_order(tmp_path):
    path = four_port(tmp_path, response()[:, :, ::4])
    wrong = FileNetwork.open(path, named("1-3/2-4"))
    assert np.max(np.abs(wrong.s(F, Z0)[1, 0])) < 1e-12
    assert "through-open" in wrong.report.codes
    own = FileNetwork.open(path)
    assert own.port_map == named("1-2/3-4")
    assert not {"through-open", "map-ambiguous"} & set(own.report.codes)


def test_plus_and_minus_exchanged_at_one_end(tmp_path):
    path = four_port(tmp_path, response()[:, :, ::4])
    net = FileNetwork.open(path, PortMap(inputs=((1, 3),), outputs=((4, 2),)))
    assert h0(channel(net)) < 0
    assert "inverted" in codes(net)


@pytest.mark.parametrize(("label", "rms", "most"), [(100.0, 0.12, 0.3), (85.0, 0.26, 0.68)])
def test_a_wrong_reference(tmp_path, label, rms, most):
    true = 100.0 if label == 85.0 else Z0
    inside = (F > 0) & (F <= 60e9)
    s = PART.s(F, true)
    right = renormalise(s, true, label)[1, 0]
    error = 20 * np.log10(np.abs(s[1, 0][inside] / right[inside]))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(rms, rel=0.6)
    assert np.max(np.abs(error)) == pytest.approx(most, rel=0.6)
    assert abs(s[1, 0, 0] / right[0]) == pytest.approx(1, abs=3e-3), "at DC there is almost nothing to see"
    # what shows it is the impedance: a line of 92.5 ohm labelled right and wrong
    path = tmp_path / "line.s2p"
    board = LINK.channel.parts[1].line
    for stated in (board.impedance, 1.08 * board.impedance):
        write_touchstone(path, F, board.s(F, board.impedance), stated)
        net = FileNetwork.open(path)
        seen = impedance_profile(net, f_max=F[-1], duration=0.3e-9, z0=stated).between(0.05e-9, 0.2e-9)
        assert seen == pytest.approx(stated, rel=0.02), "the profile shows the label, not the line"


@pytest.mark.parametrize("level_db", [-50, -60, -70, -80])
def test_the_noise_of_an_analyser(tmp_path, level_db):
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(2, 2, 2, F.size)) * 10 ** (level_db / 20) / 2**0.5
    net = opened(tmp_path, F, response() + noise[0] + 1j * noise[1])
    assert abs(change(channel(net))) < 0.1, "harmless for the pulse"
    clean, dirty = shown(LINK.channel), shown(channel(net))
    late = dirty.t > dirty.t[dirty.peak] + 20e-12 * 200
    assert np.std((dirty.samples - clean.samples)[late]) / true_h0() < 1e-3
    assert 20 * np.log10(net.report.noise.floor) == pytest.approx(level_db, abs=1)
    at_floor = np.abs(response()[1, 0]) < 10 ** (level_db / 20) * 10**0.5
    if np.any(at_floor):
        assert "noise-floor" in codes(net)
        assert net.report.noise.clear_to == pytest.approx(F[np.argmax(at_floor)], rel=0.1)


def test_a_delay_of_whole_turns_between_points_is_told(tmp_path):
    for step, length, ambiguous in ((1.03e9, 3.0 / 4.3513, True), (20e6, 3.0 / 4.3513, False), (20e6, 0.02, False)):
        f = np.arange(0, 67e9, step)
        net = opened(tmp_path, f, Twinax(length=length).s(f, Z0))
        assert ("delay-ambiguous" in net.report.codes) is ambiguous
        assert (net.report.delay < 0.5e-9) is (ambiguous or length < 0.1)  # 3 ns, taken for 0.09 ns where the step hides turns


def test_more_out_than_in(tmp_path):
    line = np.exp(-2j * np.pi * F * 1e-9)
    for excess, message in ((5e-4, "small enough to repair"), (0.05, "too much to repair: left as they are")):
        s = np.array([[0 * line, line], [line, 0 * line]]) * (1 + excess)
        net = opened(tmp_path, F, s)
        (finding,) = [f for f in net.report.findings if f.code == "not-passive"]
        assert message in finding.message
        ten = Chain((net,) * 10)
        assert np.max(np.abs(ten.s(F, Z0)[1, 0])) == pytest.approx((1 + excess) ** 10, rel=1e-6)
        if excess < 1e-3:
            repaired = opened(tmp_path, F, s, conditioning=Conditioning(clip_passivity=True))
            assert np.max(np.abs(Chain((repaired,) * 10).s(F, Z0)[1, 0])) < 1 + 1e-6
        else:
            with pytest.raises(TouchstoneError, match="clip_passivity"):
                opened(tmp_path, F, s, conditioning=Conditioning(clip_passivity=True))


def test_two_directions_that_differ(tmp_path):
    s = response().copy()
    s[0, 1] *= 0.99
    assert "not-reciprocal" in codes(opened(tmp_path, F, s))
    averaged = opened(tmp_path, F, s, conditioning=Conditioning(average_reciprocity=True))
    g = F[1::50]
    np.testing.assert_allclose(averaged.s(g, Z0)[0, 1], averaged.s(g, Z0)[1, 0], atol=1e-12)


@pytest.mark.parametrize(("inductive", "debye"), [(False, True), (True, False), (False, False)])
def test_models_that_answer_before_they_are_asked(tmp_path, inductive, debye):
    # 1.5 m of the cable alone, to 80 GHz: resistance without its inductance, a constant loss tangent, or both
    f = F[1:4001]
    w, delay = 2 * np.pi * f, np.sqrt(1.70) / materials.C0
    z, y = Twinax(length=1.0).immittances(f)
    z = z if inductive else z.real + 1j * w * 100.0 * delay
    y = y if debye else 1j * w * delay / 100.0 * (1 - 3e-4j)
    h = np.concatenate([[1.0], np.exp(-1.5 * np.sqrt(z * y))])
    net = opened(tmp_path, F[:4001], np.array([[0 * h, h], [h, 0 * h]]))
    assert net.report.phase_residual.value > 0.01
    assert "kramers-kronig" in codes(net)
