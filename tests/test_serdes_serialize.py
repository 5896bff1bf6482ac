import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from simple_links import Flat, Nyquist, simple_link

from channels.active import Redriver
from channels.channel import Cascade
from channels.copper import CopperChannel, StandardLine, Trace
from channels.file_network import FileNetwork
from channels.lines import Twinax
from channels.pair import Balanced, Differential, TwinaxPair
from dsp.clock import MuellerMuller
from dsp.constellation import named, pam, qam
from dsp.converter import Converter
from dsp.equalizer import FixedTaps, Mmse
from dsp.fec import KP4
from dsp.noise import Jitter
from serdes.link import Aggressor, Link, Receiver, RetimedLink, Transmitter
from serdes.serialize import content_hash, from_dict, from_toml, load, to_dict, to_toml
from serdes.setups import HOST_CLASSES, names, setup

MINIMAL = """
symbol_rate = 53.125e9
[tx]
amplitude = 0.4
[channel]
type = "CopperChannel"
parts = [{ type = "Twinax", length = 2, gauge = 26 }]
[rx]
noise_density = 9e-18
"""


def cable_link(**changes):
    channel = CopperChannel(parts=(Twinax(length=2.0, gauge=26),))
    return replace(simple_link(channel, rate=53.125e9), rx=Receiver(noise_density=9e-18), **changes)


def links():
    for name in names():
        s = setup(name)
        hosts = [(a, b) for a in HOST_CLASSES for b in HOST_CLASSES] if s.has_host_classes else [None]
        for pair in hosts[::4]:
            yield s.link(1.5, 30, pair)
    yield setup("100G").redriven(2.0)
    yield setup("200G").retimed(1.0, hosts=("HN", "HN"))
    yield cable_link()


@pytest.mark.parametrize("link", list(links()), ids=lambda link: type(link).__name__)
def test_there_and_back(link):
    kind = type(link)
    again = from_toml(to_toml(link), kind)
    assert again == link
    assert hash(again) == hash(link)
    assert content_hash(again) == content_hash(link)
    assert from_dict(json.loads(json.dumps(to_dict(link))), kind) == link


def test_everything_that_may_be_absent_comes_back():
    neighbour = Aggressor(
        tx=Transmitter(amplitude=0.4, constellation=named("PAM6")),
        coupling=CopperChannel(parts=(Twinax(length=1.0, gauge=30),)),
        phase_ui=0.25,
        offset_ppm=50.0,
    )
    full = cable_link(aggressors=(neighbour,), fec=KP4).vary(
        {
            "tx.constellation": qam(16),
            "tx.rise_time": 4e-12,
            "tx.snr_db": 33.0,
            "tx.ffe": FixedTaps(feed_forward=(-0.1, 0.9), n_precursors=1),
            "tx.jitter": Jitter(random_ui=0.01, dual_dirac_ui=0.02, correlation=0.9),
            "rx.converter": Converter(n_bits=6),
            "rx.clock": MuellerMuller(),
            "rx.equalizer": Mmse(tap_limit=0.5),
            "rx.bandwidth": 40e9,
        }
    )
    assert from_toml(to_toml(full)) == full
    bare = cable_link()
    assert (bare.fec, bare.rx.bandwidth, bare.rx.ctle, bare.tx.snr_db) == (None, None, None, None)
    assert from_toml(to_toml(bare)) == bare


def test_a_skewed_cable_between_balanced_parts():
    board = Balanced(part=Trace(line=StandardLine(length=0.05, impedance=95.0, tau=6e-9)))
    pairs = board @ TwinaxPair(cable=Twinax(length=1.0), skews=(2e-12,)) @ board
    link = cable_link(channel=CopperChannel(parts=(Differential(pair=pairs),)))
    assert from_toml(to_toml(link)) == link


def test_a_link_written_by_hand():
    link = from_toml(MINIMAL)
    assert link == cable_link()
    assert content_hash(link) == content_hash(cable_link())
    assert link.rx.equalizer == Mmse()
    assert link.tx.constellation == pam(4)


def test_a_constellation_may_be_a_name():
    table = {"amplitude": 1, "constellation": "NRZ"}
    assert from_dict(table, Transmitter) == Transmitter(amplitude=1.0, constellation=pam(2))
    with pytest.raises(ValueError, match=r"^Transmitter\.constellation: named\.name must be one of NRZ, .* got 'PAM5'"):
        from_dict({**table, "constellation": "PAM5"}, Transmitter)


def test_files(tmp_path):
    path = tmp_path / "a link, Größe 2.toml"
    path.write_text("# Kabel, 2 m: größer\n" + MINIMAL, encoding="utf-8")
    assert load(path) == cable_link()
    assert load(str(path)) == cable_link()
    with pytest.raises(FileNotFoundError, match=r"can't be opened \(No such file or directory\); check the path"):
        load(tmp_path / "missing.toml")
    path.write_text("symbol_rate = 5e9\nfast\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a link, Größe 2\.toml: not TOML: .*line 2"):
        load(path)
    path.write_text("# größer", encoding="latin-1")
    with pytest.raises(ValueError, match=r"Größe 2\.toml: not UTF-8 text"):
        load(path)
    path.write_text(MINIMAL.replace("length = 2", "lenght = 2"), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"Größe 2\.toml: Link\.channel\.parts\[0\]: unknown key 'lenght', did you mean 'length'"
    ):
        load(path)


REFUSED = [
    ("symbol_rate = 53.125e9", "symbol_rate = 53.125", r"^Link: Link\.symbol_rate .*was 53\.125 GBd meant\?"),
    ("symbol_rate = 53.125e9", "symbol_rate = nan", r"^Link: Link\.symbol_rate must be a finite number \[Bd\], got nan"),
    ("symbol_rate = 53.125e9", 'symbol_rate = "fast"', r"^Link: Link\.symbol_rate must be a finite number \[Bd\], got 'fast'"),
    ("symbol_rate = 53.125e9", "", r"^Link: 'symbol_rate' is missing"),
    ("symbol_rate = 53.125e9", "symbolrate = 53.125e9", r"^Link: unknown key 'symbolrate', did you mean 'symbol_rate'\?"),
    ("amplitude = 0.4", "amplitude = -0.4", r"^Link\.tx: Transmitter\.amplitude must be greater than 0 \[V\], got -0\.4"),
    ("amplitude = 0.4", "ampl = 0.4", r"^Link\.tx: unknown key 'ampl', did you mean 'amplitude'\?"),
    (
        "amplitude = 0.4",
        'amplitude = 0.4\ntype = "Receiver"',
        r"^Link\.tx: type 'Receiver' does not fit here, expected Transmitter",
    ),
    (
        'type = "CopperChannel"',
        'type = "CoperChannel"',
        r"^Link\.channel: unknown type 'CoperChannel', did you mean 'CopperChannel'\?",
    ),
    ('type = "CopperChannel"', 'type = "Receiver"', r"^Link\.channel: unknown key 'parts'; it has noise_density"),
    ('type = "CopperChannel"', "", r"^Link\.channel: needs a 'type', one of .*CopperChannel"),
    ('type = "Twinax"', 'type = "Mmse"', r"^Link\.channel\.parts\[0\]: unknown key 'length'"),
    ('{ type = "Twinax", length = 2, gauge = 26 }', "7", r"^Link\.channel: .*parts"),
    ("noise_density = 9e-18", "noise_density = 9e-9", r"^Link\.rx: Receiver\.noise_density must be below 1e-12"),
    (
        "noise_density = 9e-18",
        'equalizer = { type = "Mmse", dfe_tapz = 4 }',
        r"^Link\.rx\.equalizer: unknown key 'dfe_tapz', did you mean",
    ),
    ("noise_density = 9e-18", "equalizer = { n_taps = 4 }", r"^Link\.rx\.equalizer: needs a 'type', one of Mmse, FixedTaps"),
    (
        "noise_density = 9e-18",
        'equalizer = { type = "Jitter" }',
        r"type 'Jitter' does not fit here, expected Mmse or FixedTaps",
    ),
    (
        "noise_density = 9e-18",
        'equalizer = { type = "Mmse", feedback_limits = [0.5, 0.1] }',
        r"Mmse\.feedback_limits must be a \(lowest",
    ),
    (
        "noise_density = 9e-18",
        "jitter = { random = 0.01 }",
        r"^Link\.rx\.jitter: unknown key 'random', did you mean 'random_ui'\?",
    ),
]


@pytest.mark.parametrize(("good", "bad", "message"), REFUSED)
def test_what_is_wrong_is_said_with_its_place(good, bad, message):
    assert good in MINIMAL
    with pytest.raises(ValueError, match=message):
        from_toml(MINIMAL.replace(good, bad))


@pytest.mark.parametrize("value", [3, "a link", None, [1, 2], Fraction(1, 2)])
def test_what_is_no_table_is_refused(value):
    with pytest.raises(ValueError, match="Link: must be a table that describes a Link, got"):
        from_dict(value)


def test_the_kind_expected_is_checked():
    with pytest.raises(ValueError, match="type 'Transmitter' does not fit here, expected Link"):
        from_dict(to_dict(Transmitter(amplitude=0.4)))
    assert from_dict(to_dict(Jitter(random_ui=0.01)), None) == Jitter(random_ui=0.01)


def test_misspelt_key_of_a_user(cases_dir):
    runs = json.loads((cases_dir / "bad_run_configurations.json").read_text(encoding="utf-8"))["runs"]
    wrong = {k: v for k, v in next(r for r in runs if r["id"] == "e").items() if k not in ("id", "note")}
    with pytest.raises(ValueError, match=r"unknown key 'dfe_tapz', did you mean '.*tap"):
        from_dict({"type": "Mmse", **wrong}, Mmse)


def test_a_schema_of_known_classes_only():
    with pytest.raises(TypeError, match="Flat is not part of the link schema"):
        to_dict(simple_link(Flat()))
    with pytest.raises(TypeError, match="no place in a record"):
        to_dict((object(),))

    @dataclass(frozen=True)
    class Jitter:
        random_ui: float = 0.0

    with pytest.raises(TypeError, match="Jitter is not part of the link schema"):
        to_dict(Jitter())


# Content hash.


def test_the_hash_is_of_the_values():
    a = CopperChannel(parts=(Twinax(length=2, gauge=26),))
    b = CopperChannel(parts=(Twinax(length=2.0, gauge=np.int64(26)),))
    c = CopperChannel(parts=(Twinax(length=np.float64(2), gauge=26),))
    assert len({content_hash(x) for x in (a, b, c)}) == 1
    assert content_hash(Jitter(random_ui=-0.0)) == content_hash(Jitter(random_ui=0.0))
    assert content_hash(Jitter(random_ui=np.float32(0.25))) == content_hash(Jitter(random_ui=0.25))
    assert content_hash(a) != content_hash(replace(a, parts=(Twinax(length=2 + 1e-12, gauge=26),)))
    assert content_hash(a) != content_hash(replace(a, load_resistance=51.0))


def test_the_hash_does_not_depend_on_the_order_of_keys():
    link = setup("100G").link(1.0)
    assert content_hash(from_dict(_turned(to_dict(link)))) == content_hash(link)


def _turned(item):
    if isinstance(item, dict):
        return {key: _turned(item[key]) for key in reversed(item)}
    return [_turned(v) for v in item] if isinstance(item, list) else item


def test_the_hash_is_the_same_on_every_machine():
    # A change of this number orphans every stored sweep: it must be meant.
    assert content_hash(Jitter(random_ui=0.01, dual_dirac_ui=0.02)) == "38cc6e231e793902"


def test_numbers_of_numpy_go_into_records():
    link = cable_link().vary({"rx.equalizer.n_taps": np.int64(12), "tx.rise_time": np.float32(0)})
    assert from_toml(to_toml(link)) == link
    assert content_hash(link) == content_hash(cable_link().vary({"rx.equalizer.n_taps": 12}))


def test_where_a_file_lies_does_not_count(tmp_path):
    rows = "\n".join(f"{f} 0 0 0.9 0 0.9 0 0 0" for f in np.arange(0, 51))
    found = []
    for folder in ("one", "zwölf mal"):
        path = tmp_path / folder / "thru.s2p"
        path.parent.mkdir()
        path.write_text(f"# GHz S RI R 50\n{rows}\n")
        found.append(simple_link(CopperChannel(parts=(FileNetwork.open(path),))))
    one, other = found
    assert one == other
    assert content_hash(one) == content_hash(other)
    assert to_toml(one) != to_toml(other)
    assert from_toml(to_toml(other)) == one


def test_cascades_of_channels():
    chain = Cascade(
        parts=(
            CopperChannel(parts=(Twinax(length=1.0, gauge=26),)),
            Redriver(gain_db=3.0, peaking_db=6.0, peak_frequency=20e9, bandwidth=60e9, noise_density=1e-17),
        )
    )
    link = simple_link(chain)
    assert from_toml(to_toml(link)) == link


def test_retimed_links():
    both = RetimedLink(segments=(cable_link(), cable_link(fec=KP4)), fec=KP4)
    assert from_toml(to_toml(both), RetimedLink) == both
    with pytest.raises(ValueError, match="type 'RetimedLink' does not fit here, expected Link"):
        from_toml(to_toml(both), Link)


def test_nothing_is_written_for_what_is_absent():
    assert "none" not in to_toml(cable_link())
    assert "fec" not in to_dict(cable_link())


def test_user_channels_still_run():
    assert simple_link(Nyquist()).vary({"channel.gain": 0.5}).channel == Nyquist(gain=0.5)
