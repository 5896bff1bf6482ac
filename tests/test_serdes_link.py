import json
import math
from dataclasses import FrozenInstanceError, replace

import pytest
from simple_links import RATE, Flat, Nyquist, simple_link

from channels.copper import CopperChannel
from channels.lines import Twinax
from dsp.clock import IdealClock, MuellerMuller
from dsp.constellation import pam
from dsp.converter import Converter
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4
from dsp.filters import Ctle
from dsp.noise import Jitter
from serdes.link import Aggressor, Link, Receiver, RetimedLink, Transmitter
from serdes.setups import setup

LINK = simple_link()
CTLE = Ctle(zero=20e9, pole1=20e9, pole2=50e9, low_frequency_pole=1e9, gains_db=(-6.0, 0.0))

GOOD = {
    Transmitter: {"amplitude": 0.4},
    Receiver: {},
    Aggressor: {"tx": LINK.tx, "coupling": Flat()},
    Link: {"symbol_rate": RATE, "tx": LINK.tx, "channel": LINK.channel, "rx": LINK.rx},
    RetimedLink: {"segments": (LINK,)},
}

# Class, field, wrong value, what the rule says.
WRONG = [
    (Transmitter, "amplitude", 0.0, "greater than 0 [V]"),
    (Transmitter, "amplitude", -0.4, "greater than 0"),
    (Transmitter, "amplitude", "0.4", "a finite number"),
    (Transmitter, "constellation", "PAM4", "a Constellation"),
    (Transmitter, "rise_time", -1e-12, "from 0 to 1e-06 [s]"),
    (Transmitter, "rise_time", 4.0, "is it in seconds?"),
    (Transmitter, "ffe", (1.0,), "a FixedTaps"),
    (Transmitter, "ffe", Mmse(), "a FixedTaps"),
    (Transmitter, "snr_db", math.inf, "a finite number"),
    (Transmitter, "snr_db", 1e3, "from -20 to 200 [dB]"),
    (Transmitter, "jitter", 0.01, "a Jitter"),
    (Transmitter, "edges", Jitter(), "a EdgeJitter"),
    (Transmitter, "offset_ppm", 2000.0, "from -1000 to 1000 [ppm]"),
    (Transmitter, "offset_ppm", math.nan, "a finite number"),
    (Transmitter, "precoded", 1, "a bool"),
    (Aggressor, "tx", None, "a Transmitter"),
    (Aggressor, "coupling", 0.01, "a Channel"),
    (Aggressor, "phase_ui", 1.5, "from 0 to 1 [UI]"),
    (Aggressor, "phase_ui", math.nan, "a finite number"),
    (Aggressor, "offset_ppm", 5000.0, "from -1000 to 1000 [ppm]"),
    (Receiver, "noise_density", -1e-18, "0 or more [V^2/Hz]"),
    (Receiver, "noise_density", 7.5e-9, "7.5e-18"),
    (Receiver, "noise_density", math.nan, "a finite number"),
    (Receiver, "bandwidth", 40.0, "is it in hertz?"),
    (Receiver, "bandwidth", 0.0, "from 1e+06"),
    (Receiver, "ctle", -6.0, "a Ctle"),
    (Receiver, "jitter", None, "a Jitter"),
    (Receiver, "converter", 6, "a Converter"),
    (Receiver, "equalizer", None, "a Mmse or FixedTaps"),
    (Receiver, "clock", "ideal", "a IdealClock or MuellerMuller"),
    (Receiver, "detector", None, "a Slicer"),
    (Receiver, "high_pass", 0.1, "is it in hertz?"),
    (Receiver, "high_pass", 0.0, "from 1000 to 1e+09 [Hz]"),
    (Link, "symbol_rate", 53.125, "53.125 GBd meant? Write 53.125 * GBd"),
    (Link, "symbol_rate", math.nan, "a finite number [Bd]"),
    (Link, "symbol_rate", "53e9", "a finite number"),
    (Link, "tx", LINK.rx, "a Transmitter"),
    (Link, "channel", None, "a Channel"),
    (Link, "rx", LINK.tx, "a Receiver"),
    (Link, "aggressors", [], "a tuple of Aggressor"),
    (Link, "aggressors", None, "a tuple of Aggressor"),
    (Link, "fec", "KP4", "a Fec"),
    (RetimedLink, "segments", (), "a tuple of one or more Link"),
    (RetimedLink, "segments", LINK, "a tuple of one or more Link"),
    (RetimedLink, "fec", 1, "a Fec"),
]


@pytest.mark.parametrize(("kind", "field", "value", "rule"), WRONG)
def test_wrong_values_name_field_rule_and_value(kind, field, value, rule):
    with pytest.raises(ValueError, match=f"^{kind.__name__}.{field} must be ") as caught:
        kind(**{**GOOD[kind], field: value})
    assert rule in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("kind", GOOD)
def test_every_field_has_a_wrong_value(kind):
    assert {f for k, f, *_ in WRONG if k is kind} == set(kind.__dataclass_fields__)
    kind(**GOOD[kind])


def test_wrong_members_are_counted():
    with pytest.raises(ValueError, match=r"Link\.aggressors\[1\] must be a Aggressor, got 3"):
        replace(LINK, aggressors=(Aggressor(tx=LINK.tx, coupling=Flat()), 3))
    with pytest.raises(ValueError, match=r"RetimedLink\.segments\[1\] must be a Link, got None"):
        RetimedLink(segments=(LINK, None))


def test_rates_a_user_might_write(cases_dir):
    runs = {r["id"]: r for r in json.loads((cases_dir / "bad_run_configurations.json").read_text(encoding="utf-8"))["runs"]}
    with pytest.raises(ValueError, match="GBd meant"):
        replace(LINK, symbol_rate=runs["a"]["symbol_rate"])
    with pytest.raises(ValueError, match="finite number"):
        replace(LINK, symbol_rate=float(runs["f"]["symbol_rate_baud"]))


def test_a_link_is_a_value():
    assert simple_link() == LINK
    assert hash(simple_link()) == hash(LINK)
    assert len({LINK, simple_link(), simple_link(levels=2)}) == 2
    with pytest.raises(FrozenInstanceError):
        LINK.symbol_rate = 1e9


def test_rates():
    assert LINK.nyquist == RATE / 2
    assert LINK.line_rate == pytest.approx(2 * RATE)
    assert simple_link(levels=2).line_rate == pytest.approx(RATE)


# vary


def test_vary_replaces_what_the_path_names_and_nothing_else():
    link = simple_link(equalizer=Mmse(), ctle=CTLE, converter=Converter(n_bits=6), fec=KP4)
    changed = link.vary({"rx.equalizer.n_taps": 30, "tx.snr_db": 33.0, "rx.converter": None, "rx.ctle.gains_db.1": -1.0})
    assert changed.rx.equalizer == Mmse(n_taps=30)
    assert changed.tx.snr_db == 33.0
    assert changed.rx.converter is None
    assert changed.rx.ctle.gains_db == (-6.0, -1.0)
    back = changed.vary(
        {"rx.equalizer.n_taps": 22, "tx.snr_db": None, "rx.converter": Converter(n_bits=6), "rx.ctle.gains_db.-1": 0.0}
    )
    assert back == link
    assert link.vary({}) is link


def test_vary_reaches_into_tuples():
    link = setup("100G").link(1.0)
    position = next(i for i, part in enumerate(link.channel.parts) if isinstance(part, Twinax))
    longer = link.vary({f"channel.parts.{position}.length": 2.0})
    assert isinstance(longer.channel, CopperChannel)
    assert longer.channel.parts[position].length == 2.0
    assert longer.channel.parts[:position] == link.channel.parts[:position]
    assert longer == link.vary({f"channel.parts.{position - len(link.channel.parts)}.length": 2.0})
    quiet = link.vary({"aggressors.0.tx.amplitude": 0.1})
    assert quiet.aggressors[0].tx.amplitude == 0.1
    assert quiet.aggressors[1] == link.aggressors[1]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("rx.equaliser.n_taps", r"path 'rx\.equaliser\.n_taps': Receiver has no field 'equaliser', did you mean 'equalizer'\?"),
        ("rx.equalizer.n_tabs", "Mmse has no field 'n_tabs', did you mean 'n_taps'"),
        ("rx.zzz", "Receiver has no field 'zzz'; it has noise_density, "),
        ("symbol_rate.value", "float has no field 'value'"),
        ("channel.parts.9.length", "'9' must be an index from 0 to 0"),
        ("channel.parts.-2.length", "'-2' must be an index"),
        ("channel.parts.cable.length", "'cable' must be an index"),
        ("", "Link has no field ''"),
    ],
)
def test_a_path_that_leads_nowhere(path, message):
    link = simple_link(CopperChannel(parts=(Twinax(length=1.0, gauge=26),)), equalizer=Mmse())
    with pytest.raises(ValueError, match=message) as caught:
        link.vary({path: 1.0})
    assert repr(path) in str(caught.value)


def test_vary_refuses_what_the_constructor_refuses():
    with pytest.raises(ValueError, match=r"Mmse\.n_taps must be a whole number of 1 or more, got 0"):
        simple_link(equalizer=Mmse()).vary({"rx.equalizer.n_taps": 0})
    with pytest.raises(ValueError, match="GBd meant"):
        LINK.vary({"symbol_rate": 53.125})
    with pytest.raises(ValueError, match=r"Transmitter\.jitter must be a Jitter"):
        LINK.vary({"tx.jitter": 0.02})


def test_vary_of_a_retimed_link():
    both = RetimedLink(segments=(LINK, simple_link(Nyquist(gain=0.5))))
    changed = both.vary({"segments.1.tx.amplitude": 0.5, "fec": KP4})
    assert changed.segments[0] == LINK
    assert changed.segments[1].tx.amplitude == 0.5
    assert changed.fec == KP4


def test_defaults_are_the_plain_receiver():
    rx = Receiver()
    assert (rx.noise_density, rx.bandwidth, rx.ctle, rx.converter) == (0.0, None, None, None)
    assert rx.clock == IdealClock()
    assert Receiver(clock=MuellerMuller()).clock == MuellerMuller()
    tx = Transmitter(amplitude=0.4)
    assert (tx.constellation, tx.ffe, tx.jitter, tx.snr_db) == (pam(4), FixedTaps(), Jitter(), None)
