"""Tiers: rate identities, bandwidths as sold, reach from the simulated wire, and the studies that show them."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dsp.units import GB, TB, GBd, Gbps, km, m, mm, ns, pJ, us
from experiments.coherent_lines import amplified_reach, specified_reach
from experiments.interconnects import INTERCONNECTS, Interconnect, copper_energy, interconnect, line_rate
from experiments.lines import CoherentLine, CopperLine, InterposerLine, OpticalLine, Reach
from experiments.optical_reach import optical_bit_error_ratio, optical_frame_loss, optical_reach
from experiments.simulated_reach import EASY_HOSTS, HARD_HOSTS, SimulatedReach, copper_reach, interposer_reach, post_fec
from experiments.studies import domain as domain_study
from experiments.studies import path as path_study
from experiments.studies import tiers as tiers_study
from experiments.studies import validate_tiers
from experiments.systems import wire
from experiments.tiers import LANES_PER_GPU, TIERS, scale_up_bandwidth
from serdes.coherent_standards import module

NVLINK5 = interconnect("NVLink 5")


def test_the_rate_identity_is_exact():
    lane = line_rate(Fraction(100))
    assert lane == Fraction(425, 4)  # 106.25 Gb/s
    assert lane / 2 == Fraction(425, 8)  # 53.125 GBd
    assert line_rate(100.0) == pytest.approx(106.25)


def test_coherent_rate_identity():
    zr = interconnect("400zr")
    assert zr.line == pytest.approx(478.75 * Gbps)
    assert zr.symbol_rate / GBd == pytest.approx(59.84, abs=0.005)
    assert zr.payload == pytest.approx(400 * Gbps)


@pytest.mark.parametrize(
    ("name", "one_way", "usable"),
    [
        ("HBM3E (B200)", 8192, 7373),
        ("NVLink 4", 450, 370.8),
        ("NVLink 5", 900, 721.8),
        ("400G DR4", 50, 48),
        ("800G 2xDR4", 100, 96),
        ("1.6T DR8", 200, 192),
        ("UALink 200G x4", 100, 93),
    ],
)
def test_bandwidths_as_published(name, one_way, usable):
    found = interconnect(name)
    assert found.payload / GB == pytest.approx(one_way)
    assert found.usable / GB == pytest.approx(usable, abs=0.5)


def test_data_sheets_sum_both_directions():
    assert NVLINK5.both_ways == pytest.approx(1.8 * TB)
    assert scale_up_bandwidth(200 * Gbps) == pytest.approx(NVLINK5.both_ways)
    hbm = interconnect("HBM3E (B200)")
    assert hbm.both_ways == hbm.payload  # its wires are shared
    assert NVLINK5.lanes == LANES_PER_GPU


def test_shoreline():
    def per_mm(name):
        return interconnect(name).shoreline * mm / GB

    assert per_mm("HBM3E (B200)") == pytest.approx(93, abs=0.2)
    assert per_mm("NVLink 5") == pytest.approx(17.3, abs=0.05)
    assert 2 * per_mm("UCIe-A x64") == pytest.approx(1300, rel=0.02)
    assert interconnect("400ZR").shoreline is None


def test_latency_with_the_code():
    """Two code words of 400GBASE-R take 25.6 ns to arrive; 100 km of fibre take 0.49 ms."""
    assert interconnect("400G DR4").block_time == pytest.approx(25.6 * ns)
    assert NVLINK5.block_time == pytest.approx(12.8 * ns)  # of a link of 2 lanes, not of all 36
    assert interconnect("400ZR").least_latency(100 * km) == pytest.approx(490 * us)
    assert interconnect("400G DR4").least_latency(0.0) == pytest.approx(25.6 * ns)


def test_every_estimate_is_labelled():
    for i in INTERCONNECTS:
        assert i.source
        assert i.energy is None or i.energy_basis != "unknown", i.name
        assert i.latency is None or i.latency_basis != "unknown", i.name
        assert i.edge is None or i.edge_basis != "unknown", i.name


def test_loss_to_energy():
    """1.1 pJ/bit at 12 dB (IEEE SSC-L 2025) to about 5 at 38 dB."""
    assert copper_energy(12.0) == pytest.approx(1.1 * pJ, rel=1e-6, abs=0)
    assert copper_energy(0.0) == copper_energy(12.0)
    assert copper_energy(38.0) == pytest.approx(5 * pJ, rel=0.01, abs=0)
    with pytest.raises(ValueError, match="loss_db"):
        copper_energy(-1.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lanes", 0),
        ("lanes_per_link", 0),
        ("lanes_per_link", 37),
        ("symbol_rate", 106.25),
        ("bits_per_symbol", 0),
        ("code_rate", 0.0),
        ("efficiency", 1.1),
        ("efficiency_basis", "guess"),
        ("energy_basis", "guess"),
        ("latency_basis", "guess"),
        ("edge_basis", "guess"),
        ("energy", (2e-12, 1e-12)),
        ("energy", (1e-12,)),
        ("latency", [1e-9, 1e-9]),
        ("latency", (0.0, 1e-9)),
        ("distance", (2.0, 1.0)),
        ("distance", None),
        ("block", -1),
        ("edge", 0.0),
        ("delay", 0.0),
        ("simulated_by", "fibre"),
    ],
)
def test_bad_interconnects(field, value):
    with pytest.raises(ValueError, match=f"Interconnect.{field}"):
        replace(NVLINK5, **{field: value})


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(ValueError, match="known are HBM3E"):
        interconnect("PCIe 9")
    with pytest.raises(ValueError, match="length"):
        NVLINK5.least_latency(-1.0)
    assert isinstance(hash(NVLINK5), int)
    assert isinstance(NVLINK5, Interconnect)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("distance", (1.0,)),
        ("distance", (0.0, 1.0)),
        ("distance", [1.0, 2.0]),
        ("bandwidth", (2.0, 1.0)),
        ("simulated_by", None),
    ],
)
def test_bad_tiers(field, value):
    with pytest.raises(ValueError, match=f"Tier.{field}"):
        replace(TIERS[0], **{field: value})


def test_bad_scale_up():
    with pytest.raises(ValueError, match="payload"):
        scale_up_bandwidth(0)
    with pytest.raises(ValueError, match="lanes"):
        scale_up_bandwidth(1e9, 0)


def test_the_simulated_wire_gives_one_rack_at_224g():
    """About 1 m is the objective of 224G copper; the rack's longest cable is 1.02 m."""
    found = copper_reach("224G")
    assert 1.0 < found.length < 1.7
    assert found.binding in ("thermal", "ISI", "crosstalk")
    assert wire("224G").domain == 72
    near, far = post_fec("224G", 1.02), post_fec("224G", 1.02, spent_margin_db=3.0)
    assert near.frame_loss < far.frame_loss < 1e-12
    assert near.pre_fec_ber < far.pre_fec_ber < 2.4e-4


def test_memory_wires_reach_millimetres():
    at = {rate: interposer_reach(rate * GBd) for rate in (6.4, 8.0, 9.6)}
    assert at[6.4] > at[8.0] > at[9.6]
    assert 3 * mm < at[8.0] < 8 * mm  # HBM's wires are 2 to 6 mm long
    assert interposer_reach(8 * GBd, "1x1 um") < at[8.0] < interposer_reach(8 * GBd, "2x2 um")
    assert interposer_reach(8 * GBd, coupling=0.25) < at[8.0]
    assert interposer_reach(200 * GBd, pads=(1e-12, 1e-12)) == 0.0
    line = InterposerLine(symbol_rate=8 * GBd, wire="2x1 um")
    assert line.eye(3 * mm) < line.eye(3 * mm, with_crosstalk=False) < 1
    assert line.eye(line.reach().length) == pytest.approx(0.3, abs=0.01)
    assert line.reach().length == at[8.0]


def test_light_goes_kilometres_and_the_faster_less():
    """10 km is the longest class sold at 100G and 200G a lane."""
    slow, fast = optical_reach("112G"), optical_reach("224G")
    assert 30 * km > slow.length > fast.length > 8 * km
    assert slow.start_db - slow.loss_db - slow.dispersion_db == pytest.approx(1.5, abs=0.05)
    assert slow.loss_db == pytest.approx(0.35 * slow.length / km, abs=0.05)
    assert fast.dispersion_db > 5 * slow.dispersion_db


def test_too_much_host_loss_leaves_no_reach():
    found = optical_reach("224G", "LPO", 40.0)
    assert found.length == 0
    assert found.binding


def test_errors_of_light_at_the_edge_are_what_the_code_is_made_for():
    edge = optical_reach("112G")
    at_edge = optical_bit_error_ratio("112G", edge.length, spent_margin_db=1.5)
    assert at_edge == pytest.approx(2.4e-4, rel=0.05)
    assert optical_bit_error_ratio("112G", edge.length) < 1e-2 * at_edge
    assert 1e-13 < optical_frame_loss(at_edge, 4154) < 6.2e-10  # the frame loss that 802.3 asks for


def test_coherent_reach_in_the_tiers_is_that_of_its_study():
    for name in ("400ZR", "800ZR"):
        assert specified_reach(name)[0] == pytest.approx(amplified_reach(module(name)).length)
        assert CoherentLine(module=name).reach().binding == "amplifier noise"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (CopperLine(rate="200G"), "rate", 200),
        (CopperLine(rate="200G"), "cable", "fibre"),
        (CopperLine(rate="200G"), "hosts", "HN"),
        (InterposerLine(symbol_rate=8 * GBd, wire="2x1 um"), "symbol_rate", 8.0),
        (InterposerLine(symbol_rate=8 * GBd, wire="2x1 um"), "wire", "9x9 um"),
        (InterposerLine(symbol_rate=8 * GBd, wire="2x1 um"), "pads", (1e-13,)),
        (OpticalLine(rate="112G"), "rate", "100G"),
        (OpticalLine(rate="112G"), "architecture", "laser"),
        (OpticalLine(rate="112G"), "host_loss_db", -1.0),
        (CoherentLine(module="400ZR"), "module", "ZR"),
    ],
)
def test_bad_lines(line, field, value):
    with pytest.raises(ValueError, match=f"{type(line).__name__}.{field}"):
        replace(line, **{field: value})


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: copper_reach("224G", "fibre"), "cable"),
        (lambda: copper_reach("448G"), "unknown rate"),
        (lambda: post_fec("224G", 0.0), "length"),
        (lambda: post_fec("224G", 1.0, spent_margin_db=-1.0), "spent_margin_db"),
        (lambda: interposer_reach(8.0), "GBd"),
        (lambda: optical_reach("112G", margin_db=-1.0), "margin_db"),
        (lambda: optical_reach("100G"), "rate"),
        (lambda: optical_bit_error_ratio("112G", 0.0), "length"),
        (lambda: optical_bit_error_ratio("112G", 1.0, spent_margin_db=-1.0), "spent_margin_db"),
        (lambda: interposer_reach(8 * GBd, "9x9 um"), "wire"),
        (lambda: interposer_reach(8 * GBd, eye=1.5), "eye"),
    ],
)
def test_bad_reaches(call, match):
    with pytest.raises(ValueError, match=match):
        call()


PAYLOADS = {"50G": 50 * Gbps, "100G": 100 * Gbps, "200G": 200 * Gbps}
LENGTHS = {"passive": {"50G": 5.4, "100G": 3.2, "200G": 1.45}, "ACC": {"50G": 5.5, "100G": 3.5, "200G": 2.4},
           "AEC": {"50G": 8.6, "100G": 5.8, "200G": 4.1}}  # fmt: skip


def length_of(rate, cable, hosts):
    return 3.07 if hosts == EASY_HOSTS and cable == "passive" else LENGTHS[cable][rate]


def simulated(rate, cable, hosts):
    return SimulatedReach(
        rate=rate, cable=cable, hosts="-".join(hosts), length=length_of(rate, cable, hosts) * m, binding="thermal", loss_db=36.0,
        payload=PAYLOADS[rate], symbol_rate=53.125 * GBd, basis="simulated",
    )  # fmt: skip


def found(line):
    if isinstance(line, CopperLine):
        length = length_of(line.rate, line.cable, line.hosts)
        return Reach(length=length, binding="thermal", basis="simulated", loss_db=36.0)
    if isinstance(line, OpticalLine):
        return Reach(length=2 * km if line.architecture == "CPO" else 12 * km, binding="fibre loss", basis="simulated")
    return line.reach()


REACHES = {line: found(line) for line in tiers_study.lines()}


def test_tiers_against_the_table_as_quoted():
    answer = tiers_study.run(reaches=REACHES)
    for row in answer.tables["expected"]:
        assert row["ratio"] == pytest.approx(1.0, abs=0.03), row
    domains = {(r["rate"], r["cable"], r["hosts"]): r for r in answer.tables["copper_domain"]}
    assert domains["200G", "passive", "HN-HH"]["gpus"] == 72
    assert domains["200G", "passive", "HL-HL"]["gpus"] == 504
    assert domains["200G", "passive", "HL-HL"]["gpus_one_tier_of_72_ports"] == 72
    rows = {r["interconnect"]: r for r in answer.tables["tiers"]}
    assert rows["NVLink 5"]["reach_m"] == 1.45
    assert all(r["distance_basis"].startswith("simulated") for r in rows.values())
    assert 110 * km < rows["400ZR"]["reach_m"] < 130 * km
    assert rows["400ZR"]["binding_cause"] == "amplifier noise"
    assert all(r["inside_the_copper_domains"] == 0 for r in answer.tables["optics"])


def test_copper_is_chosen_where_it_reaches():
    table = {r["length_m"]: r for r in tiers_study.run(reaches=REACHES).tables["least_energy"]}
    assert table[1.0]["200G"].startswith("passive copper")
    assert table[2.0]["200G"].startswith("CPO")
    assert table[2.0]["100G"].startswith("passive copper")
    assert table[200.0]["200G"].startswith("CPO")
    assert table[200.0]["200G without CPO"].startswith("LPO")
    assert table[80e3]["200G"].startswith("coherent")
    assert "ACC" in table[2.0]["200G reaching"]


def test_domain_study_finds_two_optima():
    given = [simulated(*key) for key in domain_study.copper_links()]
    answer = domain_study.run(reaches=given)
    passive = [r for r in answer.tables["domain"] if r["cable"] == "passive" and r["hosts"] != "HL-HL"]
    assert domain_study.best(passive, "all_reduce_ring_s")["rate"] == "200G"
    assert domain_study.best(passive, "all_to_all_ms")["rate"] == "100G"
    bounded = domain_study.run(reaches=given, radix=72).tables["domain"]
    assert all(r["domain_gpus"] == 72 for r in bounded)
    assert {r["hosts"] for r in answer.tables["domain"]} == {"-".join(HARD_HOSTS), "-".join(EASY_HOSTS)}
    for field, value in (("gpus", 1), ("group", 1), ("group", 10**6), ("exchange", 0.0)):
        with pytest.raises(ValueError, match=field):
            domain_study.run(reaches=given, **{field: value})


def test_path_study_sums_up():
    answer = path_study.run()
    rows = answer.tables["path"]
    assert rows[-1]["hop"] == "sum"
    assert rows[-1]["latency_us"] == pytest.approx(sum(r["latency_us"] for r in rows[:-1]), abs=1e-3)
    assert rows[-1]["energy_pj_per_bit"] == pytest.approx(sum(r["energy_pj_per_bit"] or 0 for r in rows[:-1]), abs=0.1)
    assert [r["meet_at"] for r in answer.tables["compared"]] == ["a core switch", "a spine", "one scale-up domain"]
    assert len(path_study.run(0, 1).tables["compared"]) == 1


def test_validation_shows_its_misses():
    answer = validate_tiers.run()
    rows = answer.tables["collectives"]
    assert len(rows) == 23
    assert [r["point"] for r in rows if r["miss"]] == ["A18", "A22", "A23"]
    errors = {(r["points"], r["model"]): r["mean_abs_pct"] for r in answer.tables["errors"]}
    assert errors["all 23", "bandwidth alone"] == 7.3
    assert errors["20 without A18, A22, A23", "bandwidth alone"] == 2.8
    assert errors["all 23", "with NCCL's latencies"] < 7.3
    counts = answer.tables["counts"]
    assert sum(r["error_pct"] == 0 for r in counts if r["count"].startswith("switches")) == 6
    for row in answer.tables["identities"]:
        assert row["model"] == pytest.approx(row["published"], rel=0.01)
    assert any("after the fact" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (lambda: tiers_study.run(reaches=REACHES), {"tiers", "in_package", "media", "optics"}),
        (lambda: domain_study.run(reaches=[simulated(*key) for key in domain_study.copper_links()]), {"domain"}),
        (path_study.run, {"path"}),
        (validate_tiers.run, {"collectives", "sweeps", "scaling"}),
    ],
)
def test_figures_name_their_axes(answer, names):
    figures = answer().figures
    assert set(figures) == names
    for draw in figures.values():
        figure = draw()
        assert all(ax.get_xlabel() for ax in figure.axes)
        figure.canvas.draw()
