from dataclasses import replace

import numpy as np
import pytest

from channels.channel import Cascade
from channels.copper import CopperChannel
from channels.lines import Twinax
from dsp.constellation import pam
from dsp.converter import Converter
from dsp.equalizer import Mmse
from dsp.fec import KP4, KR4
from serdes.link import Link, RetimedLink
from serdes.operating_point import operating_point
from serdes.setups import HOST_CLASSES, names, setup

PAIRS = [(a, b) for a in HOST_CLASSES for b in HOST_CLASSES]


def loss_db(channel, f):
    return float(-20 * np.log10(np.abs(channel.transfer(np.array([f]))[0])))


def test_rates_and_their_other_names():
    assert names() == ("25G", "50G", "100G", "200G")
    for alias, name in (
        ("28G", "25G"),
        ("56G", "50G"),
        ("112G", "100G"),
        ("224G", "200G"),
        ("112g", "100G"),
        (" 224G ", "200G"),
    ):
        assert setup(alias).name == name
    for name in names():
        assert setup(name).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("400G", r"unknown rate '400G', did you mean '[0-9]+G'"),
        ("fast", "it has 25G, 28G"),
        ("", "unknown rate ''"),
        ("112", "did you mean '112G'"),
        ("53.125", r"was the symbol rate 53\.125 GBd meant\? That is 100G"),
        ("106.25 GBd", "That is 200G"),
        (53.125, "GBd meant"),
        (None, "unknown rate None"),
    ],
)
def test_unknown_rates(name, message):
    with pytest.raises(ValueError, match=message):
        setup(name)


@pytest.mark.parametrize("make", ["link", "retimed", "redriven"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"length": None}, r"setup 200G\.length must be a finite number \[m\], got None"),
        ({"length": "a"}, r"setup 200G\.length must be a finite number"),
        ({"length": 1.0, "gauge": 99}, r"setup 200G\.gauge must be one of"),
        ({"length": 1.0, "hosts": ("HN",)}, r"setup 200G\.hosts must be \(class at the transmitter"),
    ],
)
def test_wrong_cables_name_the_field(make, wrong, message):
    with pytest.raises(ValueError, match=message):
        getattr(setup("200G"), make)(**wrong)


# The table of set-ups: symbol rate [GBd], levels, R_LM, drive [V], rise [ps], eta_0 [V^2/GHz], SNR_TX [dB], A_DD, error ratio.
TABLE = {
    "25G": (25.78125, 2, 1.0, 0.4, 0.4, 0.6, 8, 5.2e-8, 27.0, 0.05, 1e-5, 0.75, 55),
    "50G": (26.5625, 4, 0.95, 0.415, 0.415, 0.604, 8, 1.64e-8, 32.5, 0.02, 1e-4, 0.75, 55),
    "100G": (53.125, 4, 0.95, 0.413, 0.413, 0.608, 7.5, 9e-9, 32.5, 0.02, 1e-4, 0.75, 50),
    "200G": (106.25, 4, 0.95, 0.385, 0.385, 0.481, 4, 7.5e-9, 33.5, 0.02, 2e-4, 0.55, 46.25),
}


@pytest.mark.parametrize("name", names())
def test_numbers_of_the_standards(name):
    rate, levels, mismatch, drive, far, near, rise, density, snr, dirac, error, band, resistance = TABLE[name]
    s = setup(name)
    assert s.symbol_rate == rate * 1e9
    assert s.tx.constellation.points == pam(levels, mismatch).points
    assert (s.tx.amplitude, s.far_end_amplitude, s.near_end_amplitude) == (drive, far, near)
    assert s.tx.rise_time == pytest.approx(rise * 1e-12, rel=1e-6, abs=0)
    assert s.rx.noise_density == pytest.approx(density * 1e-9, rel=1e-6, abs=0)
    assert s.rx.bandwidth == pytest.approx(band * s.symbol_rate)
    assert s.tx.snr_db == snr
    assert (s.tx.jitter.random_ui, s.tx.jitter.dual_dirac_ui) == (0.01, dirac)
    assert s.error_ratio == s.target().error_ratio == error
    assert s.termination == resistance
    assert s.target().margin_db == 3
    assert s.fec == (KR4 if name == "25G" else KP4)


@pytest.mark.parametrize("name", names())
def test_the_common_receiver(name):
    rx = setup(name).rx
    assert rx.converter == Converter(n_bits=6, clip_probability=1e-7)
    assert rx.equalizer == Mmse(n_taps=22, n_precursors=6, n_feedback=1, feedback_limits=(0.0, 0.85))
    assert 0.0 in rx.ctle.gains_db


def test_unread_standards_are_marked():
    assert [setup(name).verified for name in names()] == [False, False, True, True]


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("gauge", [26, 30])
def test_a_link_is_whole(name, gauge):
    link = setup(name).link(1.5, gauge)
    assert isinstance(link, Link)
    wires = [part for part in link.channel.parts if isinstance(part, Twinax)]
    assert [(w.length, w.gauge) for w in wires] == [(1.5, gauge)]
    assert len(link.aggressors) == 2
    assert setup(name).link(1.5, gauge, crosstalk=False).aggressors == ()
    assert np.all(np.isfinite(link.channel.transfer(np.linspace(0, 2 * link.symbol_rate, 50))))


@pytest.mark.parametrize(
    ("hosts", "published"), [(("HL", "HL"), 3.26 * 2), (("HN", "HH"), 8.32 + 13.15), (("HN", "HN"), 8.32 * 2)]
)
def test_a_short_cable_leaves_the_loss_of_the_hosts(hosts, published):
    # The published host losses and two connectors of about 4.4 dB, and the ripple of their reflections.
    link = setup("200G").link(0.01, hosts=hosts)
    near_nyquist = np.linspace(0.9, 1.0, 41) * link.nyquist
    loss = np.mean([loss_db(link.channel, f) for f in near_nyquist])
    assert loss == pytest.approx(published + 4.4, abs=1.5)


def test_cable_loss_is_added_by_the_metre():
    for name, per_metre in (("100G", 4.65), ("200G", 7.12)):
        one, three = (setup(name).link(x, hosts=("HL", "HL") if name == "200G" else None) for x in (1.0, 3.0))
        f = np.linspace(0.95, 1.05, 41) * one.nyquist
        added = np.mean([loss_db(three.channel, x) - loss_db(one.channel, x) for x in f])
        assert added / 2 == pytest.approx(per_metre, rel=0.03)


def test_hosts_are_classes_of_200g_only():
    with pytest.raises(ValueError, match=r"setup 200G\.host must be one of HL, HN, HH, got 'HX'"):
        setup("200G").link(1.0, hosts=("HL", "HX"))
    with pytest.raises(ValueError, match=r"setup 100G\.host must be left out: this rate has no host classes, got 'HL'"):
        setup("100G").link(1.0, hosts=("HL", "HL"))
    with pytest.raises(ValueError, match="gauge must be one of 24, 26,"):
        setup("100G").link(1.0, 25)
    with pytest.raises(ValueError, match=r"Twinax\.length must be"):
        setup("100G").link(-1.0)


@pytest.mark.parametrize("pair", PAIRS)
def test_ends_are_exchangeable_for_the_through_channel(pair):
    f = np.linspace(1e9, 100e9, 20)
    forward = setup("200G").link(1.0, hosts=pair).channel.transfer(f)
    backward = setup("200G").link(1.0, hosts=pair[::-1]).channel.transfer(f)
    assert backward == pytest.approx(forward, abs=1e-9)


@pytest.mark.parametrize("name", names())
def test_crosstalk_at_its_stated_level(name):
    s = setup(name)
    link = s.link(1.0)
    nyquist = np.array([link.nyquist])
    through = loss_db(link.channel, link.nyquist)
    far, near = link.aggressors
    assert loss_db(far.coupling, link.nyquist) == pytest.approx(through + 42, abs=0.01)
    # Near-end coupling passes the receiver's own host twice, whatever the cable does.
    longer = s.link(3.0).aggressors[1]
    assert longer.coupling.transfer(nyquist) == pytest.approx(near.coupling.transfer(nyquist))
    assert loss_db(near.coupling, link.nyquist) > 46
    assert (far.tx.amplitude, near.tx.amplitude) == (s.far_end_amplitude, s.near_end_amplitude)
    assert far.tx.snr_db is None


def test_another_cable():
    s = setup("100G")
    wire = replace(next(p for p in s.link(2.0).channel.parts if isinstance(p, Twinax)), gauge=24)
    assert s.link(99.0, cable=wire).channel.parts == s.link(2.0, 24).channel.parts


def test_around_a_measured_channel():
    s = setup("100G")
    wire = Twinax(length=0.5, gauge=30)
    bare, packed = s.around((wire,), packages=False), s.around((wire,))
    assert bare.channel == CopperChannel(parts=(wire,), source_resistance=50.0, load_resistance=50.0)
    assert packed.channel.parts[0] == s.package("tx")
    assert loss_db(packed.channel, packed.nyquist) > loss_db(bare.channel, bare.nyquist) + 2
    assert packed.aggressors == ()
    assert (packed.tx, packed.rx) == (s.tx, s.rx)


def test_a_retimed_cable_is_three_links():
    link = setup("200G").retimed(2.0, hosts=("HN", "HH"))
    assert isinstance(link, RetimedLink)
    assert len(link.segments) == 3
    lengths = [sum(p.length for p in seg.channel.parts if isinstance(p, Twinax)) for seg in link.segments]
    assert lengths == [0, 2.0, 0]
    assert link.fec == KP4
    s = setup("200G")
    assert link.segments[0].channel.parts[: len(s.host_parts("HN", "tx"))] == s.host_parts("HN", "tx")
    far = tuple(part.flipped for part in reversed(s.host_parts("HH", "rx")))
    assert link.segments[2].channel.parts[-len(far) :] == CopperChannel(parts=far).parts
    # Each segment is easier than the whole passive cable.
    passive = operating_point(setup("200G").link(2.0, hosts=("HN", "HH"))).snr_db
    assert min(operating_point(seg).snr_db for seg in link.segments) > passive


def test_a_redriven_cable_is_one_link_with_noise_of_its_own():
    link = setup("100G").redriven(3.0)
    assert isinstance(link.channel, Cascade)
    f = np.linspace(1e9, 50e9, 10)
    assert np.all(link.channel.noise_psd(f) > 0)
    passive = setup("100G").link(3.0)
    assert loss_db(link.channel, link.nyquist) < loss_db(passive.channel, passive.nyquist)


def test_setups_are_values():
    assert setup("112G") is setup("100G") or setup("112G") == setup("100G")
    assert setup("100G").link(1.0) == setup("100G").link(1)
    assert hash(setup("100G").link(1.0)) == hash(setup("100G").link(1))


def test_what_ships_depends_on_the_gauge():
    assert [setup("100G").shipped(gauge) for gauge in (26, 30, 34)] == [(2.0, 3.0), (1.0, 1.5), None]
    assert [setup("100G").shipped(gauge, redriven=True) for gauge in (26, 30)] == [(5.0, 5.0), (3.0, 4.0)]
    assert setup("25G").shipped(26) == setup("25G").shipped(30) == (3.0, 5.0)
    fast = setup("200G")
    assert (fast.shipped(26), fast.shipped(26, redriven=True), fast.shown_reach) == (None, None, 2.0)
    assert setup("100G").shown_reach is None
