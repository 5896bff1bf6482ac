"""COM of Annex 93A: models, sampling, feedback taps, search, law of the noise, and the numbers of the task force's script."""

import json
from dataclasses import replace

import numpy as np
import pytest

from channels.copper import ShuntCapacitor
from channels.lines import StandardLine
from channels.network import Chain
from channels.port_map import PortMap
from channels.touchstone import write_touchstone
from dsp import kernels
from dsp.distribution import Interference
from dsp.units import db, fF, mm, mV, ns
from experiments.studies import validate_com
from serdes import com_dfe, com_eye
from serdes.com import CAUSES, ComResult, case_record, com, com_case
from serdes.com_channel import ComChannel, impulse_response, open_channel, prepare, pulse_behind_ctle
from serdes.com_noise import Law, law, uniform
from serdes.com_standards import NAMES, standard

BOARD = {"a1": 3.8206e-4 * ns**0.5 / mm, "a2": 9.5909e-5 * ns / mm, "tau": 5.79e-3 * ns / mm}
LINE = StandardLine(length=150 * mm, impedance=100.0, **BOARD)
ROUGH = Chain((ShuntCapacitor(capacitance=40 * fF), LINE, ShuntCapacitor(capacitance=60 * fF)))


def coupling(loss_db):
    """A weak two-port, the same at every frequency but for its delay."""
    return StandardLine(length=0.1, impedance=100.0, gamma0=loss_db / 0.8685889638, tau=5e-9)


FAR = coupling(40.0)
KR = standard("802.3ck-kr")
SMALL = replace(
    KR, Delta_f=50e6, cases=KR.cases[:1], c_pre=((0.0, 0.04), (-0.2, -0.1, 0.0)), c_post=((-0.1, 0.0),), g_DC=(-6.0, -3.0, 0.0),
    g_DC2=(-2.0, 0.0),
)  # fmt: skip
CHANNEL = ComChannel(thru=ROUGH)


@pytest.fixture(scope="module")
def result():
    return com(SMALL, CHANNEL)


@pytest.mark.parametrize(
    ("line", "at", "s21", "degrees", "s11"),
    [
        ((1.734e-3, 1.455e-4, 6.141e-3, 78.2, 12), 1.0, 0.970877, -28.402, 0.112309),
        ((1.734e-3, 1.455e-4, 6.141e-3, 78.2, 12), 26.56, 0.852923, 15.104, None),
        ((1.734e-3, 1.455e-4, 6.141e-3, 78.2, 12), 53.12, 0.773728, 36.022, None),
        ((4.114e-4, 2.547e-4, 6.191e-3, 109.8, 141), 1.0, 0.908515, 42.524, None),
        ((4.114e-4, 2.547e-4, 6.191e-3, 109.8, 141), 26.56, 0.285108, 30.360, None),
        ((4.114e-4, 2.547e-4, 6.191e-3, 109.8, 141), 53.12, 0.097038, None, None),
    ],
)  # fmt: skip
def test_lines_have_the_published_values(line, at, s21, degrees, s11):
    a1, a2, tau, impedance, length = line
    part = StandardLine(length=length * mm, impedance=impedance, a1=a1 * ns**0.5 / mm, a2=a2 * ns / mm, tau=tau * ns / mm)
    s = part.s(np.array([at * 1e9]), 100.0)[:, :, 0]
    assert abs(s[1, 0]) == pytest.approx(s21, abs=1e-6)
    if degrees is not None:
        assert np.degrees(np.angle(s[1, 0])) == pytest.approx(degrees, abs=1e-3)
    if s11 is not None:
        assert abs(s[0, 0]) == pytest.approx(s11, abs=1e-6)


def test_decibels_are_of_amplitudes(cases_dir):
    """D38."""
    case = json.loads((cases_dir / "com_and_optical_unit_conversions.json").read_text())
    assert db(case["com"]["signal_mV"] / case["com"]["noise_at_target_mV"]) == pytest.approx(4.601976500835583, rel=1e-8)


def test_amplitude_and_quantile_from_cursors(cases_dir):
    """D43: enumerated by another tool."""
    case = json.loads((cases_dir / "com_noise_quantile_from_cursors.json").read_text())
    signal = case["R_LM"] * case["h0"] / (case["levels_L"] - 1)
    isi = np.array(case["residual_isi"])
    noise = Law(cursors={"ISI": isi}, levels=SMALL.levels, sigma=case["gaussian_sigma"])
    assert signal == pytest.approx(0.0981666666666667)
    assert noise.amplitude(case["DER0"]) == pytest.approx(0.0841534834776644, rel=1e-6)
    assert db(signal / noise.amplitude(case["DER0"])) == pytest.approx(1.33783892774669, abs=1e-5)
    assert noise.amplitude(case["DER0"], 1e-5) == pytest.approx(0.0841534834776644, rel=2e-3)


def test_base_l_digits_are_uniform():
    cursors = uniform(2.0, 4)
    x = Interference(cursors=cursors, levels=SMALL.levels, sigma=0.0)
    assert np.sqrt(x.variance) == pytest.approx(2 / np.sqrt(12), rel=1e-6)
    assert x.quantile(0.25) == pytest.approx(0.5, abs=1e-3)
    assert x.quantile(0.01) == pytest.approx(0.98, abs=1e-3)


def test_impulse_of_a_delay_is_where_it_should_be():
    f = np.arange(1001) * 50e6
    response = impulse_response(SMALL, f, np.exp(-2j * np.pi * f * 1e-9 - (f / 20e9) ** 2))
    assert np.argmax(response) / (SMALL.M * SMALL.f_b) == pytest.approx(1e-9, abs=1e-12)
    assert np.sum(response) == pytest.approx(1.0, abs=0.01)


def test_ctle_at_dc_is_the_sum_of_its_gains():
    step = np.zeros(60000)
    step[0] = 1.0
    for g, g2 in ((-6.0, -2.0), (-10.0, 0.0)):
        pulse = pulse_behind_ctle(SMALL, step, g, g2)
        assert db(np.sum(pulse) / SMALL.M) == pytest.approx(g + g2, abs=1e-6)


def test_com_is_amplitude_over_noise(result):
    case = result.cases[0]
    assert result.com_db == pytest.approx(db(case.signal / case.noise))
    assert case.law.tail(case.noise) == pytest.approx(SMALL.DER_0, rel=1e-6)
    assert result.passes is (result.com_db >= 3)


def test_the_figure_of_merit_of_the_search_is_that_of_the_setting(result):
    e = result.cases[0].setting
    paths = prepare(SMALL, SMALL.cases[0], CHANNEL)
    fom, at = com_dfe.figures(SMALL, paths, SMALL.ctle_settings)
    assert e.fom == pytest.approx(np.max(fom), abs=1e-6)
    assert e.at == at.flat[np.argmax(fom)]
    total = sum(e.variances[k] for k in ("N", "TX", "J", "ISI", "XT"))
    assert e.fom == pytest.approx(10 * np.log10((SMALL.R_LM * e.main / 3) ** 2 / total))


def test_pruning_keeps_the_optimum():
    paths = prepare(SMALL, SMALL.cases[0], CHANNEL)
    full, _ = com_dfe.figures(SMALL, paths, SMALL.ctle_settings)
    cut, _ = com_dfe.figures(SMALL, paths, SMALL.ctle_settings, prune=True)
    assert np.argmax(full) == np.argmax(cut)
    assert np.max(full) == np.max(cut)
    assert np.sum(np.isinf(cut)) >= np.sum(np.isinf(full))


def test_compiled_search_equals_plain_python():
    sheet = replace(SMALL, c_pre=((0.04,), (-0.1,)), c_post=((0.0,),))
    paths = prepare(sheet, sheet.cases[0], CHANNEL)
    x = com_dfe.padded(sheet, pulse_behind_ctle(sheet, paths[0].impulse, -3.0, -2.0))
    taps, before = sheet.tx_settings
    for greedy in (True, False):
        arguments = (
            x, int(np.argmax(x)), taps, before, sheet.M, np.array(sheet.b_min), np.array(sheet.b_max), 40, 3, 3, 0.05,
            greedy, 25, 0.02,
            com_dfe.phase_products(sheet, x, 4), com_dfe.phase_products(sheet, com_dfe.slope_of(sheet, x), 4), 5 / 9,
            5e-4, 5e-4, 1e-8,
            np.zeros(1), 0.3, -np.inf,
        )  # fmt: skip
        fast, slow = kernels.search_dfe(*arguments), kernels.search_dfe.py_func(*arguments)
        assert fast[0] == pytest.approx(slow[0], rel=1e-12)
        assert fast[1] == slow[1]


@pytest.mark.parametrize("seed", range(3))
def test_best_groups_against_every_choice(seed):
    gain = np.random.default_rng(seed).exponential(size=14)
    starts = kernels.best_groups(gain, 2, 3)
    assert np.array_equal(starts, kernels.best_groups.py_func(gain, 2, 3))
    every = max(gain[a : a + 3].sum() + gain[b : b + 3].sum() for a in range(12) for b in range(a + 3, 12))
    assert sum(gain[s : s + 3].sum() for s in starts) == pytest.approx(every)


@pytest.mark.parametrize("seed", range(4))
def test_greedy_groups_are_disjoint_and_never_better(seed):
    gain = np.random.default_rng(seed).exponential(size=20)
    greedy = kernels.greedy_groups(gain, 3, 3)
    assert np.array_equal(greedy, kernels.greedy_groups.py_func(gain, 3, 3))
    taps = [t for s in greedy for t in range(s, s + 3)]
    assert len(set(taps)) == 9
    assert gain[taps].sum() <= sum(gain[s : s + 3].sum() for s in kernels.best_groups(gain, 3, 3)) + 1e-12


def test_feedback_taps_keep_their_limits():
    h = np.array([0.9, -0.2, 0.3, 0.01, 0.2, -0.3, 0.02])
    b = kernels.bounded_taps(h, 1.0, np.array([0.3, 0.0]), np.array([0.85, 0.1]), 1, 2, 0.1, False, 5, 0.05)
    assert np.allclose(
        b, kernels.bounded_taps.py_func(h, 1.0, np.array([0.3, 0.0]), np.array([0.85, 0.1]), 1, 2, 0.1, False, 5, 0.05)
    )
    assert b[0] == 0.85
    assert b[1] == 0.0
    assert np.flatnonzero(b[2:]).tolist() == [2, 3]
    assert np.linalg.norm(b[4:]) == pytest.approx(0.05)
    assert b[4] == pytest.approx(-b[5])


def test_a_local_walk_ends_where_the_script_would():
    fom = np.array([[0.0, 5.0, 1.0, 9.0]])
    steps = np.array([[0, 0], [0, 1], [1, 0], [1, 3]])
    still = np.zeros(1, np.int64)
    arguments = (fom, still, still, steps, np.array([0, 1]))
    # past the first step of tap 0, tap 1 may not be more than one step from the best so far
    assert kernels.walk_settings(*arguments, 1) == 1
    assert kernels.walk_settings(*arguments, 2) == 3
    assert kernels.walk_settings.py_func(*arguments, 1) == 1


def test_shares_and_what_removal_brings(result):
    case = result.cases[0]
    assert sum(case.shares.values()) == pytest.approx(1)
    rows = case.why()
    assert [r["rms_mv"] for r in rows] == sorted((r["rms_mv"] for r in rows), reverse=True)
    assert all(r["com_dfe_without_db"] >= case.com_dfe_db - 1e-9 for r in rows)
    first = rows[0]
    factor = 10 ** (-first["for_one_db"] / 20)
    quieter = case.scaled(first["symbol"], factor).quantile(SMALL.DER_0)
    assert db(case.signal / quieter) == pytest.approx(case.com_dfe_db + 1, abs=1e-3)
    with pytest.raises(ValueError, match="cause"):
        case.scaled("gravity", 0.5)


def test_record_is_plain(result):
    text = json.dumps(result.record())
    assert json.loads(text)["cases"][0]["case"] == "1"
    assert set(case_record(result.cases[0])["sigma_mv"]) == set(CAUSES)


@pytest.mark.parametrize("name", NAMES)
def test_every_standard_runs(name):
    sheet = standard(name)
    taps = {"c_pre": ((0.0,), (-0.2, -0.1, 0.0)), "g_DC": (-6.0, -3.0, 0.0)} if "ck" in name else {"c_pre": (), "g_DC": (-6.0,)}
    sheet = replace(
        sheet, Delta_f=50e6, **taps, c_post=(), g_DC2=(-2.0,), G_Qual=(), G2_Qual=(), sample_adjustment=(-4, 4)
    )  # fmt: skip
    result = com_case(sheet, sheet.cases[0], ComChannel(thru=replace(LINE, length=80 * mm)))
    assert result.com_db > 2
    assert sum(result.shares.values()) == pytest.approx(1)


def test_unknown_case_is_refused():
    with pytest.raises(ValueError, match="cases"):
        com(SMALL, CHANNEL, cases=("7",))


FIXED = replace(SMALL, c_pre=((0.0,), (-0.1,)), c_post=((0.0,),), g_DC=(-3.0,), g_DC2=(-2.0,))


def com_of(sheet, channel=CHANNEL):
    return com_case(sheet, sheet.cases[0], channel).com_db


@pytest.mark.parametrize(
    "changes",
    [
        [{"T_r": t} for t in (5e-12, 7.5e-12, 10e-12)], [{"eta_0": e} for e in (0.0, 8e-18, 3e-17)],
        [{"sigma_RJ": s} for s in (0.0, 0.01, 0.02)],
        [{"A_DD": a} for a in (0.0, 0.02, 0.04)], [{"SNR_TX": s} for s in (40.0, 33.0, 30.0)],
        [{"DER_0": d} for d in (1e-3, 1e-4, 1e-6)],
    ],
)  # fmt: skip
def test_com_falls_as_things_get_worse(changes):
    values = [com_of(replace(SMALL, **change)) for change in changes]
    assert values == sorted(values, reverse=True)


def test_com_falls_with_the_package():
    def longer(z):
        case = SMALL.cases[0]
        ends = {side: replace(getattr(case, side), z_p=(z, 0.0018)) for side in ("tx", "rx", "fext", "next")}
        return replace(SMALL, cases=(replace(case, **ends),))

    values = [com_of(longer(z), ComChannel(thru=LINE)) for z in (0.01, 0.05, 0.1)]
    assert values == sorted(values, reverse=True)


def test_scaling_everything_without_receiver_noise_changes_nothing():
    quiet = replace(SMALL, eta_0=0.0)
    assert com_of(replace(quiet, A_v=0.2)) == pytest.approx(com_of(quiet), abs=1e-6)


def test_aggressors_count_in_any_order_and_only_against():
    one, two = coupling(30.0), coupling(34.0)
    both = com_of(FIXED, ComChannel(thru=ROUGH, fext=(one, two), next=(FAR,)))
    assert com_of(FIXED, ComChannel(thru=ROUGH, fext=(two, one), next=(FAR,))) == pytest.approx(both, abs=1e-9)
    assert both < com_of(FIXED, ComChannel(thru=ROUGH, fext=(one,))) < com_of(FIXED)


def test_both_sums_of_crosstalk_agree_on_what_matters():
    channel = ComChannel(thru=ROUGH, fext=(coupling(30.0),), next=(FAR,))
    sheet = replace(FIXED, c_pre=((0.0,), (0.0,)), f_2=53.125e9)
    paths = prepare(sheet, sheet.cases[0], channel)
    taps, before = sheet.tx_settings
    spectrum = com_dfe.CrosstalkPower(sheet, paths, taps, before).variance(-3.0, -2.0)[0]
    worst = com_dfe.CrosstalkPower(replace(sheet, crosstalk="worst phase"), paths, taps, before).variance(-3.0, -2.0)[0]
    # the spectrum averages over phases
    assert 0.5 * worst < spectrum < 1.1 * worst


def four_port(path, network, order=(0, 1, 2, 3), f_max=60e9, gain=1.0):
    """Two uncoupled lines as a file, ports in any order: (in+, in-, out+, out-) of the differential two-port on 100 ohm."""
    f = np.arange(0, f_max + 1, 50e6)
    two = network.s(f, 100.0) * gain
    s = np.zeros((4, 4, f.size), complex)
    for a, b in ((0, 2), (1, 3)):
        s[np.ix_((a, b), (a, b))] = two
    out = np.empty_like(s)
    out[np.ix_(order, order)] = s
    write_touchstone(path, f, out, 50.0)
    return path


def test_port_order_and_file_or_model_make_no_difference(tmp_path):
    a = four_port(tmp_path / "a.s4p", ROUGH)
    b = four_port(tmp_path / "b.s4p", ROUGH, (0, 2, 1, 3))
    here = com_of(FIXED, open_channel(FIXED, a))
    assert com_of(FIXED, open_channel(FIXED, b)) == pytest.approx(here, abs=1e-9)
    assert com_of(FIXED, open_channel(FIXED, b, port_map=PortMap(inputs=((1, 3),), outputs=((2, 4),)))) == pytest.approx(
        here, abs=1e-9
    )
    assert com_of(FIXED) == pytest.approx(here, abs=0.05)


def test_bad_files_are_refused_by_name(tmp_path):
    good = four_port(tmp_path / "good.s4p", ROUGH)
    with pytest.raises(ValueError, match=r"low\.s4p.*below the Nyquist"):
        open_channel(FIXED, four_port(tmp_path / "low.s4p", ROUGH, f_max=20e9))
    with pytest.raises(ValueError, match=r"loud\.s4p: not passive"):
        open_channel(FIXED, good, (four_port(tmp_path / "loud.s4p", ROUGH, gain=1.2),))
    with pytest.raises((ValueError, OSError), match="absent"):
        open_channel(FIXED, good, (tmp_path / "absent.s4p",))
    almost = open_channel(FIXED, four_port(tmp_path / "almost.s4p", LINE, gain=1.015))
    assert any(f.code == "not-passive" and "almost.s4p: singular value up to 1.01" in f.message for f in almost.findings)
    short = open_channel(FIXED, four_port(tmp_path / "short.s4p", ROUGH, f_max=40e9))
    assert "below-full-band" in [f.code for f in short.findings]


def test_a_step_too_wide_for_the_delay_is_refused():
    with pytest.raises(ValueError, match=r"Delta_f must be below .* delay of"):
        com_of(replace(FIXED, Delta_f=100e6), ComChannel(thru=replace(LINE, length=1.5)))


def test_channel_wants_two_ports():
    with pytest.raises(ValueError, match="thru"):
        ComChannel(thru="line")
    with pytest.raises(ValueError, match="fext"):
        ComChannel(thru=LINE, fext=(1,))
    with pytest.raises(ValueError, match="next"):
        ComChannel(thru=LINE, next=[LINE])
    with pytest.raises(ValueError, match="name"):
        ComChannel(thru=LINE, name=1)
    with pytest.raises(ValueError, match="findings"):
        ComChannel(thru=LINE, findings=[])


def test_the_window_costs_eye_and_closes_to_com():
    """An eye of no width is COM: VEC = -20 log10 (1 - 10^(-COM / 20))."""
    wide = replace(FIXED, T_O=0.05, sigma_r=0.02, VEC_max=12.0)
    thin = replace(wide, sigma_r=1e-4)
    at_once = com_case(FIXED, FIXED.cases[0], CHANNEL)
    seen = com_case(thin, thin.cases[0], CHANNEL)
    assert seen.opening.height == pytest.approx(2 * (at_once.signal - at_once.noise), rel=2e-3)
    assert seen.opening.closure_db == pytest.approx(-20 * np.log10(1 - 10 ** (-at_once.com_db / 20)), abs=0.02)
    assert com_case(wide, wide.cases[0], CHANNEL).opening.height < seen.opening.height


def test_what_closes_the_window_is_told_by_the_window():
    sheet = replace(FIXED, T_O=0.05)
    case = com_case(sheet, sheet.cases[0], ComChannel(thru=ROUGH, fext=(coupling(30.0),)))
    rows = case.why()
    assert {r["symbol"] for r in rows} >= {"ISI", "TX", "XT"}
    assert all(case.com_db < r["com_dfe_without_db"] < case.com_db + 12 for r in rows)
    first = next(r for r in rows if r["for_one_db"] is not None)
    better = com_eye.opening(sheet, case.setting, {first["symbol"]: 10 ** (-first["for_one_db"] / 20)})
    assert db(case.signal / better.noise) == pytest.approx(case.com_db + 1, abs=1e-3)


def test_an_eye_below_its_limit_fails():
    sheet = replace(FIXED, T_O=0.05, VEC_max=1.0)
    case = com_case(sheet, sheet.cases[0], CHANNEL)
    assert not case.passes
    assert com_eye.Opening(height=-1e-3, signal=0.1).closure_db == np.inf


def test_a_dead_channel_has_no_setting():
    dead = ComChannel(thru=Chain((ShuntCapacitor(capacitance=1e-9),) * 12))
    result = ComResult(sheet=FIXED, channel="dead", cases=(com_case(FIXED, FIXED.cases[0], dead),), losses=None)
    assert not result.passes
    assert result.record()["cases"][0]["passes"] is False


# --- against the task force's script, on its channels ---


@pytest.fixture(scope="module")
def reference(channels_dir):
    data = channels_dir.parent
    return data, {(r.channel, r.config, r.case): r for r in validate_com.references(data, slow=False)}


def test_fixed_equaliser_of_the_script(reference):
    data, every = reference
    channel, config, case = "DPO_10in thru only", "krfix10", "1"
    row = json.loads((data / "com_reference.json").read_text())["results"]
    sigma = next(r for r in row if r["config"] == "krfix10")["sig_mV"]
    ref = every[channel, config, case]
    ours = com_case(
        ref.sheet, ref.sheet.cases[0], open_channel(ref.sheet, data / "channels" / validate_com.CHANNELS[channel][0])
    )
    e = ours.setting
    assert ours.signal / mV == pytest.approx(ref.found["As"], rel=1e-6)
    assert e.fom == pytest.approx(ref.found["FOM"], abs=1e-3)
    assert ours.com_db == pytest.approx(ref.found["COM"], abs=0.01)
    for mine, theirs in (("N", "sgm_N"), ("TX", "sgm_TX"), ("RJ", "sgm_rjit"), ("ISI", "sgm_isi")):
        assert np.sqrt(e.variances[mine]) / mV == pytest.approx(sigma[theirs], rel=3e-3)
    assert law(ref.sheet, e).sigma / mV == pytest.approx(sigma["sgm_G"], rel=1e-3)
    exact = replace(ref.sheet, pdf="exact")
    assert com_of(exact, open_channel(exact, data / "channels" / validate_com.CHANNELS[channel][0])) == pytest.approx(
        ref.found["COM"], abs=0.03
    )


@pytest.mark.parametrize(
    ("channel", "config"),
    [
        ("DPO_10in thru only", "krref"), ("DPO_4in + FENG89 + NENF1112", "krref"), ("CA_19p75dB + fext1 + next2 + next7",
        "crref"),
        ("C2C_PCB_SYSVIA thru only", "krref"), ("DPO_10in thru only", "krnf"), ("DPO_10in thru only", "krsmall"),
        ("DPO_10in thru only", "krsmall, FORCE_TR 0"), ("C2M IL14 + FEXT1", "c2msmall"),
    ],
)  # fmt: skip
def test_searches_of_the_script(reference, channel, config):
    data, every = reference
    for (name, setup, _), ref in every.items():
        if (name, setup) != (channel, config):
            continue
        row = validate_com.compare(data, ref)
        assert abs(row["difference_db"]) < 0.03, row
        assert row["FOM"] == pytest.approx(row["FOM_reference"], abs=5e-3)
        assert (row["gDC"], row["gDC2"]) == (row["gDC_reference"], row["gDC2_reference"])
        if "VEC" in row:
            assert row["VEC"] == pytest.approx(row["VEC_reference"], abs=0.02)
            assert row["VEO"] == pytest.approx(row["VEO_reference"], rel=2e-3)


def test_the_full_sheet_of_the_script(reference):
    """Every setting of the official backplane sheet, both packages, as the script prints it."""
    data, _ = reference
    full = [r for r in validate_com.references(data) if r.config == "KR sheet, full grid"]
    assert len(full) == 2
    for ref in full:
        assert abs(validate_com.compare(data, ref)["difference_db"]) < 0.03


def test_few_eyes_are_enough(monkeypatch):
    """The windowed search draws the best settings only: half as many find the same optimum."""
    sheet = replace(FIXED, T_O=0.05, c_pre=((-0.1, -0.05, 0.0),), g_DC=(-6.0, -4.0, -2.0, 0.0), g_DC2=(-2.0, -1.0, 0.0))
    every = com_case(sheet, sheet.cases[0], CHANNEL)
    monkeypatch.setattr(com_eye, "MOST_EYES", 12)
    few = com_case(sheet, sheet.cases[0], CHANNEL)
    assert (few.setting.g_DC, few.setting.g_DC2, few.setting.tx) == (every.setting.g_DC, every.setting.g_DC2, every.setting.tx)


def test_the_best_groups_have_the_higher_figure_of_merit(reference):
    """Where the placement of groups differs from the script's, ours is better by the same definition."""
    data, every = reference
    ref = every["DPO_4in + FENG89 + NENF1112", "krref", "2"]
    better = validate_com.compare(data, replace(ref, sheet=replace(ref.sheet, floating="best")))
    assert better["FOM"] > ref.found["FOM"] + 0.1
