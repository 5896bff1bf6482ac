"""Modules with and without a DSP, and the studies that compare them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from channels.host import HostLoss
from dsp.equalizer import Mmse
from dsp.fec import KP4
from experiments import interfaces, optical_reach
from experiments.commands.optics import commands
from experiments.optical_lanes import OpticalLane
from experiments.studies import crossover, optics
from experiments.studies import reach as reach_study
from experiments.studies import tdecq as tdecq_study
from serdes.dead_links import outer_drive
from serdes.link import Receiver, RetimedLink, Transmitter
from serdes.modules import ARCHITECTURES, Architecture, Figure, Lane, drive_peak, optical_link, run_path, transmit_taps
from serdes.pmd import CODES, pmd
from serdes.semi_analytic import SemiAnalytic

FAST = SemiAnalytic(n_symbols=2048, taps_per_symbol=2)
LANE = OpticalLane(rate="224G")


def margin(name, loss_db):
    found = run_path(ARCHITECTURES[name], LANE.lane(), LANE.host(loss_db), optics.quiet_optics(LANE), FAST)
    return found.margin_db, found


def test_a_linear_module_pays_for_host_loss_and_fails_between_16_and_20_db():
    """106.25 GBd, thermal noise alone; published 0.2, 0.7, 1.7, 5.4 dB over the offset at no loss, no solution at 20 dB."""
    retimed, _ = margin("retimed", 0.0)
    penalties = [retimed - margin("LPO", loss)[0] for loss in (0.0, 4.0, 8.0, 12.0, 16.0)]
    assert np.all(np.diff(penalties) > 0)
    assert np.array(penalties[:4]) - penalties[0] == pytest.approx([0, 0.2, 0.7, 1.7], abs=0.4)
    assert 3 < penalties[4] < 8
    assert margin("LPO", 20.0)[1].optical.outcome == "fails"


def test_a_dsp_module_does_not_move():
    assert margin("retimed", 20.0)[0] == pytest.approx(margin("retimed", 0.0)[0], abs=0.02)


def test_half_a_dsp_pays_half():
    assert margin("LPO", 12.0)[0] < margin("LRO", 12.0)[0] < margin("retimed", 12.0)[0]


def test_a_bare_slicer_fails_by_4_db():
    assert margin("slicer", 0.0)[1].outcome == "ok"
    lost = margin("slicer", 4.0)[1]
    assert lost.outcome == "fails"
    assert lost.binding == "ISI"


def test_remote_light_costs_its_loss():
    near, far = margin("LPO", 4.0)[0], margin("CPO", 4.0)[0]
    assert near - far == pytest.approx(4.5, abs=0.05)


def test_electrical_segments_use_up_part_of_the_error_ratio():
    noisy = replace(LANE.lane(), noise_density=6e-15)
    found = run_path(ARCHITECTURES["retimed"], noisy, LANE.host(16.0), optics.quiet_optics(LANE), FAST)
    assert found.electrical[0] == found.electrical[1] > 0
    assert found.margin_db < margin("retimed", 16.0)[0]
    hopeless = run_path(
        ARCHITECTURES["retimed"], replace(noisy, noise_density=1e-13), LANE.host(16.0), optics.quiet_optics(LANE), FAST
    )
    assert hopeless.outcome == "fails"
    assert "host to module" in hopeless.reason


def test_too_much_light_is_named():
    bright = replace(optics.quiet_optics(LANE), loss_db=0.0)
    laser = replace(bright.source.laser, power=40e-3)
    found = run_path(
        ARCHITECTURES["retimed"], LANE.lane(), LANE.host(0.0), replace(bright, source=replace(bright.source, laser=laser)), FAST
    )
    assert found.outcome == "overload"


def test_host_taps_pre_equalise_within_the_peak():
    lane, host = LANE.lane(), LANE.host(12.0)
    taps = transmit_taps(lane.symbol_rate, host, LANE.optics(0.0).driver)
    assert np.sum(np.abs(taps.feed_forward)) == pytest.approx(1)
    assert taps.feed_forward[1] < 0 > taps.feed_forward[3]
    plain = drive_peak(lane.symbol_rate, lane.host_tx, host, LANE.optics(0.0).driver)
    assert plain < 0.4
    link = optical_link(ARCHITECTURES["LPO"], lane, host, LANE.optics(0.0))
    assert outer_drive(link) == pytest.approx(0.4 * sum(link.tx.ffe.feed_forward))
    with pytest.raises(ValueError, match="predistortion"):
        optical_link(ARCHITECTURES["LPO"], lane, host, replace(LANE.optics(0.0), predistortion=None))


def test_multimode_lane_works_over_100_m():
    lane = OpticalLane(rate="112G", wavelength=850e-9)
    found = run_path(
        ARCHITECTURES["AOC"], lane.lane(), HostLoss(loss_db=8, frequency=lane.symbol_rate / 2), lane.multimode(50.0), FAST
    )
    assert found.outcome == "ok"
    longer = run_path(
        ARCHITECTURES["AOC"], lane.lane(), HostLoss(loss_db=8, frequency=lane.symbol_rate / 2), lane.multimode(300.0), FAST
    )
    assert longer.margin_db < found.margin_db - 1


def test_every_energy_has_its_source():
    for t in crossover.TECHNOLOGIES:
        assert t.energy.source
    assert all(a.energy.source and a.latency.source for a in ARCHITECTURES.values())


@pytest.fixture(scope="module")
def map_rows():
    tasks = [
        crossover.Task(technology=t, rate="224G") for t in crossover.TECHNOLOGIES if t.kind in ("passive", "CPO", "retimed")
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossover, "DISTANCES", (1.0, 2.0, 5.0, 500.0))
        solved = [crossover.solve(task) for task in tasks]
        rows, reaches = [row for part, _ in solved for row in part], [reach for _, reach in solved]
        yield rows, reaches, crossover._best(rows, ("224G",))


def test_copper_wins_energy_wherever_it_reaches(map_rows):
    rows, reaches, best = map_rows
    closing = {r["distance_m"] for r in rows if r["technology"] == "passive copper, low-loss hosts" and r["closes"]}
    assert 1.0 in closing
    assert 500.0 not in closing
    for r in best:
        assert ("passive" in r["technology"]) == (r["distance_m"] in closing)
    by = {r["technology"]: r for r in reaches}
    low, nominal, high = (by[t.name]["reach_m"] for t in crossover.COPPER[:3])
    assert low > nominal > high > 1
    assert by["passive copper, low-loss hosts"]["outcome"] == "found"
    assert by["DSP module, 16 dB hosts"]["outcome"] == "beyond the map"
    assert all(r["latency_ns"] > 0 for r in rows)
    spans = crossover._spans(reaches, "224G")
    assert spans["passive copper, low-loss hosts"] == (1.0, low)
    assert spans["co-packaged (CPO), 4 dB hosts"][0] == low
    assert "DSP module, 16 dB hosts" not in spans


def test_the_map_is_drawn(map_rows, tmp_path):
    _, reaches, _ = map_rows
    crossover._draw(reaches, ("224G",)).savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert any("wins energy wherever it reaches" in note for note in crossover._notes(reaches))


def test_slower_rates_have_one_kind_of_host():
    task = crossover.Task(technology=crossover.COPPER[1], rate="112G")
    assert crossover.solve(task) == ([], {})
    assert crossover.Task(technology=crossover.COPPER[0], rate="112G").name == crossover.STANDARD_HOSTS
    with pytest.raises(ValueError, match="rate"):
        crossover.run(("57G",))


def test_points_of_the_study():
    row = optics.solve(optics.Task(sweep="host", rate="112G", architecture="LPO", host_loss_db=4.0))
    assert row["outcome"] == "ok"
    assert row["host_loss_db"] == pytest.approx(4.0)
    assert row["error_ratio"] < 2.4e-4
    assert row["codeword_failure"] < 8.2e-13
    stage = optics.solve(optics.Task(sweep="stages", rate="224G", architecture="FFE, 5 taps", bandwidths=(70.0, 70.0)))
    assert stage["oma_dbm"] == pytest.approx(-9.0, abs=0.1)
    sweeps = {t.sweep for t in optics.tasks(("112G",))}
    assert sweeps == set(optics._SWEEPS)
    swept = {(t.sweep, t.architecture) for t in optics.tasks(("112G",))}
    assert {(s, a) for s in ("host", "fibre", "bandwidth") for a in optics.COMPARED} <= swept


def test_the_inner_code_nets_a_decibel():
    """Published -8.87 dBm at 106.25 GBd and -10.01 at 113.4375: 1.14 dB net of the faster symbols."""
    alone, inner = (
        optics.solve(optics.Task(sweep="codes", rate="224G", architecture=code, bandwidths=(55.0, 60.0))) for code in CODES
    )
    assert inner["symbol_rate_gbd"] == pytest.approx(113.4375)
    assert alone["oma_dbm"] == pytest.approx(-8.87, abs=0.3)
    assert alone["oma_dbm"] - inner["oma_dbm"] == pytest.approx(1.14, abs=0.1)


def test_the_inner_code_is_on_the_light_alone():
    coded = replace(LANE, inner=True)
    plain, found = (
        run_path(ARCHITECTURES["retimed"], lane.lane(), lane.host(8.0), optics.quiet_optics(lane), FAST)
        for lane in (LANE, coded)
    )
    before, light, after = found.link.segments
    assert before.symbol_rate == after.symbol_rate == LANE.symbol_rate
    assert light.symbol_rate == pytest.approx(113.4375e9)
    assert 0.8 < found.margin_db - plain.margin_db < 1.4
    assert coded.lane().optical_limit(0.0) == pytest.approx(4.85e-3, rel=0.01)
    assert coded.lane().optical_limit(1e-4) < coded.lane().optical_limit(0.0)


def test_segments_of_each_architecture_and_the_sum_of_their_errors():
    noisy = replace(LANE.lane(), noise_density=6e-15)
    for name, segments in (("retimed", 3), ("LRO", 2), ("LPO", 1)):
        found = run_path(ARCHITECTURES[name], noisy, LANE.host(12.0), optics.quiet_optics(LANE), FAST)
        links = found.link.segments if isinstance(found.link, RetimedLink) else (found.link,)
        assert len(links) == segments
        assert found.link.fec == KP4
        assert len(found.electrical) == segments - 1
        assert found.pre_fec == pytest.approx(sum(found.electrical) + found.optical.standing.error_ratios()[1])
        assert found.post_fec == pytest.approx(float(KP4.codeword_failure(found.pre_fec)))
    assert found.link.channel.parts[0] == found.link.channel.parts[-1] == LANE.host(12.0)


def test_hosts_from_a_file(channels_dir):
    """A measured host-to-module channel in the place of a loss: the linear module suffers, the DSP does not."""
    file = next((channels_dir / "ck_c2m_il14").rglob("*THRU.s4p"))
    rows = {
        name: optics.solve(optics.Task(sweep="file", rate="112G", architecture=name, file=str(file)))
        for name in ("retimed", "LPO", "slicer")
    }
    assert 8 < rows["retimed"]["host_loss_db"] < 20
    assert rows["retimed"]["outcome"] == "ok"
    assert rows["LPO"]["margin_db"] < rows["retimed"]["margin_db"] - 1
    assert rows["slicer"]["outcome"] == "fails"


def test_rows_of_light_in_the_reach_study():
    """Six architectures and hosts for every rate that optics have; half of the SNR margin is light."""
    rows = optical_reach.rows_of([25.78125e9, 53.125e9, 106.25e9], 1.5)
    assert {(r.rate, r.margin_db) for r in rows} == {("112G", 1.5), ("224G", 1.5)}
    assert len(rows) == 12
    linear = next(r for r in rows if (r.rate, r.architecture, r.host_loss_db) == ("224G", "LPO", 16.0))
    assert linear.solve()["reach_m"] == 0
    cable = next(r for r in rows if (r.rate, r.architecture) == ("112G", "AOC")).solve()
    assert cable["fibre"] == "OM4"
    assert 90 < cable["reach_m"] < 130
    assert cable["binding_cause"] == "dispersion"
    assert cable["energy_source"]


def test_reach_joins_light_to_copper(monkeypatch):
    monkeypatch.setattr("experiments.parallel.os.cpu_count", lambda: 1)
    monkeypatch.setattr(reach_study, "LENGTHS", (1.0, 6.0))
    monkeypatch.setattr(optical_reach, "HOSTS_DB", {"retimed": (16.0,)})
    answer = reach_study.run(("56G",), (26,))
    light = answer.tables["optics"]
    assert [r["module"] for r in light] == ["DSP module"]
    assert light[0]["reach_m"] > 100 * max(r["reach_m"] for r in answer.tables["reach"])
    assert any("optical power" in note for note in answer.notes)


def test_interfaces_close_with_their_weakest_transmitter():
    """What the columns of the standard promise, by simulation; the received power is that of the budget's identity."""
    row = interfaces.row("400G-DR4")
    assert row["received_dbm"] == pytest.approx(row["stressed_dbm"]) == -1.9
    assert row["oma_dbm"] == -0.8
    assert (row["outcome"], row["reason"]) == ("ok", "")
    assert 3 < row["margin_db"] < 7
    multimode = interfaces.row("400G-SR4")
    assert multimode["outcome"] == "ok"
    assert 3 < multimode["tdecq_db"] < 4.4
    assert 0 < multimode["margin_db"] < 3


@pytest.mark.parametrize(("name", "length"), [("400G-DR4", 600.0), ("400G-SR4", 150.0), ("400G-LR4-10", 20e3)])
def test_more_fibre_than_the_budget_is_an_outcome(name, length):
    row = interfaces.row(name, length)
    assert row["outcome"] == "over budget"
    assert row["reason"]
    assert row["margin_db"] is None


def test_a_transmitter_over_the_limit_is_named():
    strict = replace(pmd("400G-DR4"), tdecq_max_db=0.5)
    (dispersion, channel), _ = interfaces.channels_of(strict)
    assert dispersion == pytest.approx(-0.92e-3, abs=1e-5)
    found = interfaces._corner(strict, dispersion, channel)
    assert found["outcome"] == "over the limit"
    assert "0.5 allowed" in found["reason"]
    bright = interfaces._corner(replace(strict, tdecq_max_db=3.4, oma_floor_dbm=12.0, oma_max_dbm=13.0), dispersion, channel)
    assert bright["outcome"] == "overload"


def capture(folder):
    """A file with an ideal waveform."""
    rng = np.random.default_rng(3)
    symbols = rng.integers(4, size=1024)
    symbols[100:107], symbols[200:206] = 3, 0
    power = np.repeat(1e-3 * (1 + 0.5 * np.array([-1, -1 / 3, 1 / 3, 1])[symbols]), 8)
    path = folder / "ideal.npz"
    np.savez(path, waveform_w=power, symbols=symbols)
    return path


def test_tdecq_command(tmp_path):
    path = capture(tmp_path)
    done = CliRunner().invoke(commands, ["tdecq", str(path), "--symbol-rate", "53.125e9", "--json"])
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert 0.2 < record["tdecq_db"] < 0.6
    crossed = CliRunner().invoke(
        commands, ["tdecq", str(path), "--symbol-rate", "53.125e9", "--json", "--phase", "crossing", "--main-tap", "3"]
    )
    assert json.loads(crossed.output)["main_tap"] == 3
    slow = CliRunner().invoke(commands, ["tdecq", str(path), "--symbol-rate", "53.125", "--json"])
    assert "was 53.125 GBd meant" in str(slow.exception)
    answer = tdecq_study.run(path, symbol_rate=53.125e9, interface="400G-DR4")
    assert answer.tables["tdecq"][0]["verdict"] == "complies"
    assert {p.name for p in answer.write(tmp_path / "out")} >= {"tdecq.png", "tdecq.csv"}


def test_commands_exist():
    names = {c.callback.__name__ for c in commands.registered_commands}
    assert names == {"tdecq", "optics", "crossover"}


GOOD = {"name": "x", "title": "x", "transmit": "linear", "receive": "linear", "energy": Figure(value=1.0, source="estimate"),
        "latency": Figure(value=1.0, source="estimate")}  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "good", "field", "value"),
    [
        (Architecture, GOOD, "transmit", "half"), (Architecture, GOOD, "receive", ""), (Architecture, GOOD, "equalized", 1),
        (Architecture, GOOD, "host_loss_db", -1.0), (Architecture, GOOD, "extra_loss_db", -1.0), (Architecture, GOOD, "energy", 5),
        (Architecture, GOOD, "latency", 5), (Figure, {"value": 1.0, "source": "x"}, "value", -1.0),
        (Figure, {"value": 1.0, "source": "x"}, "source", ""), (Lane, {"symbol_rate": 1e11}, "symbol_rate", 53.0),
        (Lane, {"symbol_rate": 1e11}, "bit_error_ratio", 0.5), (Lane, {"symbol_rate": 1e11}, "host_tx", Receiver()),
        (Lane, {"symbol_rate": 1e11}, "host_noise_db", 3.0), (Lane, {"symbol_rate": 1e11}, "noise_density", 1.0),
        (Lane, {"symbol_rate": 1e11}, "host_taps", 0), (Lane, {"symbol_rate": 1e11}, "module_rx", Transmitter(amplitude=1.0)),
        (OpticalLane, {"rate": "56G"}, "rate", "57G"), (OpticalLane, {"rate": "56G"}, "wavelength", 1.0),
        (OpticalLane, {"rate": "56G"}, "bandwidth", 0.0), (OpticalLane, {"rate": "56G"}, "inner", 1),
        (Lane, {"symbol_rate": 1e11}, "fec", 1), (Lane, {"symbol_rate": 1e11}, "inner", "Hamming"),
    ],
)  # fmt: skip
def test_wrong_values_are_named(cls, good, field, value):
    with pytest.raises(ValueError, match=field):
        cls(**{**good, field: value})
    assert Mmse()
