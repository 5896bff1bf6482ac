"""What moves the reach: each change moves it the way physics says, and draws are reproducible."""

from dataclasses import replace

import numpy as np
import pytest

from dsp.units import ps
from experiments.registry import STUDIES
from experiments.studies import sensitivity as study
from experiments.studies.sensitivity import Scenario
from serdes.setups import setup

S = setup("112G")
FACTORS = study.factors(S)


@pytest.fixture(scope="module")
def base():
    return Scenario().reach(S, 3.0)[0]


@pytest.mark.parametrize(
    ("scenario", "longer"),
    [
        (Scenario(gauge=30), False),
        (Scenario(loss_factor=0.9), True),
        (Scenario(skew=5 * ps), False),
        (Scenario(crosstalk_db=None), True),
        (Scenario(error_factor=10), True),
        (Scenario(board=25e-3), False),
        (Scenario(cable={"temperature": 75.0}), False),
        (Scenario(link={"rx.converter.n_bits": 7}), True),
        (FACTORS["Tx noise"]["SNR_TX -3 dB"], False),
        (FACTORS["Tx noise"]["SNR_TX +3 dB"], True),
        (FACTORS["jitter power"]["x2"], False),
        (FACTORS["jitter power"]["x0.25"], True),
    ],
    ids=["gauge", "loss", "skew", "crosstalk", "target", "board", "heat", "bits", "noisy", "quiet", "jittery", "steady"],
)
def test_each_change_moves_the_reach_its_way(scenario, longer, base):
    length, outcome = scenario.reach(S, 3.0)
    assert outcome == "found"
    assert (length > base) is longer


def test_the_reach_goes_as_one_over_the_loss_where_the_cable_dominates(base):
    # 10 % less loss per metre: about 11 % more length, a little less for the losses of hosts and connectors
    assert 1.05 < Scenario(loss_factor=0.9).reach(S, 3.0)[0] / base < 1.13


NINE = {
    "converter bits", "target error ratio", "Tx noise", "jitter power", "host board", "wire gauge", "skew", "crosstalk", "temperature",
}  # fmt: skip


@pytest.mark.parametrize("rate", ["56G", "112G", "224G"])
def test_the_nine_factors_are_there_at_every_rate(rate):
    found = study.factors(setup(rate))
    assert set(found) >= NINE
    assert all(scenario != Scenario() for options in found.values() for scenario in options.values())
    assert all(len({repr(scenario) for scenario in options.values()}) == len(options) for options in found.values())


@pytest.fixture(scope="module")
def base_224():
    return Scenario().reach(setup("224G"), 3.0)[0]


@pytest.mark.parametrize(
    ("factor", "change", "longer"),
    [
        ("Tx noise", "SNR_TX -3 dB", False), ("Tx noise", "SNR_TX +3 dB", True),
        ("jitter power", "x2", False), ("jitter power", "x0.25", True), ("host board", "+25 mm each", False),
    ],
)  # fmt: skip
def test_transmitter_and_host_move_the_reach_their_way_at_224g(factor, change, longer, base_224):
    s = setup("224G")
    length, outcome = study.factors(s)[factor][change].reach(s, 3.0)
    assert outcome in ("found", "too short")
    assert (length > 1.02 * base_224) if longer else (length < 0.98 * base_224)


def test_better_hosts_reach_further(base_224):
    s = setup("224G")
    classes = study.factors(s)["host class"]
    assert classes["HL-HL"].reach(s, 3.0)[0] > 1.5 * base_224
    assert 1.05 * base_224 < classes["HN-HN"].reach(s, 3.0)[0] < classes["HL-HL"].reach(s, 3.0)[0]


def test_the_gauge_is_the_study_s_unless_it_is_what_changes(base):
    thin = Scenario().reach(S, 3.0, gauge=30)[0]
    assert thin == Scenario(gauge=30).reach(S, 3.0)[0] < base
    assert Scenario(gauge=26).reach(S, 3.0, gauge=30)[0] == base
    assert set(study.factors(S, 30)["wire gauge"]) == {"26 AWG", "24 AWG"}
    with pytest.raises(ValueError, match=r"sensitivity\.gauge must be one of 24, 26"):
        study.run(gauge=25)


def test_host_classes_only_where_there_are_any():
    assert "host class" not in study.factors(S)
    assert set(study.factors(setup("224G"))["host class"]) == {"HL-HL", "HN-HN"}


def test_draws_depend_on_the_seed_alone():
    one, same, other = (study.draw(S, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert one == same
    assert one != other
    assert one.skew >= 0
    assert 20 <= one.cable["temperature"] <= 70


def test_tables_rank_by_the_swing():
    rows = [
        {"rate": "a", "factor": f, "change": c, "reach_m": x, "base_m": 2.0}
        for f, c, x in (("small", "up", 2.1), ("small", "down", 1.95), ("large", "up", 2.2), ("large", "down", 1.0))
    ]
    ranked = study._ranked(rows)
    assert [(r["factor"], r["rank"]) for r in ranked] == [("large", 1), ("large", 1), ("small", 2), ("small", 2)]
    assert {r["rank"] for r in study._ranked([{**r, "reach_m": 2.0} for r in rows])} == {1}


def test_run_with_tolerances(monkeypatch):
    few = {"wire gauge": {"30 AWG": Scenario(gauge=30)}}
    monkeypatch.setattr(study, "factors", lambda s, gauge: few)
    monkeypatch.setattr(study, "run_all", lambda work, tasks, progress: [work(t) for t in tasks])
    answer = study.run(("112G",), draws=4, seed=2)
    assert "alone to 26 AWG" in answer.notes[0]
    (row,) = answer.tables["tolerance"]
    assert row["p5_m"] <= row["p50_m"] <= row["p95_m"] < 3.4  # heat, skew and board can only shorten it
    assert answer.tables == study.run(("112G",), draws=4, seed=2).tables
    for draw in answer.figures.values():
        assert draw().axes
    with pytest.raises(ValueError, match=r"draws must be a whole number of 0 or more"):
        study.run(draws=-1)


def test_a_base_without_reach_is_an_outcome(monkeypatch):
    few = {"host class": {"HL-HL": Scenario(hosts=("HL", "HL"))}}
    monkeypatch.setattr(study, "factors", lambda s, gauge: few)
    monkeypatch.setattr(study, "run_all", lambda work, tasks, progress: [work(t) for t in tasks])
    answer = study.run(("224G",), margin_db=8.0)
    (row,) = answer.tables["sensitivity"]
    assert (row["base_m"], row["ratio"]) == (0.0, None)
    assert row["reach_m"] == 0.0
    assert row["outcome"] == "too short"
    assert any("200G: no cable meets" in note for note in answer.notes)
    assert answer.figures == {}
    sentence = next(s for s in STUDIES if s.name == "sensitivity").sentence
    assert sentence(answer).startswith("No passive cable")


def test_a_scenario_is_a_value():
    assert replace(Scenario(board=1e-3), board=0.0) == Scenario()
