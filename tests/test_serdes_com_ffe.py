"""COM of Annex 178A: the receiver FFE and its bounds, quantiser, sequence detector, and the numbers of other programs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cholesky, toeplitz

from channels.copper import ShuntCapacitor
from channels.lines import StandardLine
from channels.network import Chain
from dsp import kernels
from dsp.units import fF, mm, ns
from experiments.studies import validate_com
from serdes import com_bank, com_ffe
from serdes.com import com_case
from serdes.com_channel import ComChannel, open_channel, prepare
from serdes.com_mlsd import behind, mlsd
from serdes.com_reach import cable_channel, com_reach, sparse
from serdes.com_standards import standard

DJ = standard("802.3dj-kr")
SMALL = replace(
    DJ, Delta_f=100e6, cases=DJ.cases[1:2], c_pre=((-0.04, 0.0),), c_post=((-0.04, 0.0),), g_DC=(-6.0, -2.0),
    g_DC2=(-2.0, 0.0), N_max=30,
    sample_adjustment=(-6, 6),
)  # fmt: skip
LINE = StandardLine(length=120 * mm, impedance=92.5, a1=5.95e-4 * ns**0.5 / mm, a2=2.6e-5 * ns / mm, tau=5.79e-3 * ns / mm)
ROUGH = Chain(
    (
        ShuntCapacitor(capacitance=15 * fF),
        LINE,
        ShuntCapacitor(capacitance=20 * fF),
        replace(LINE, length=30 * mm, impedance=100.0),
    )
)
FEXT = StandardLine(length=0.1, impedance=92.5, gamma0=40.0, tau=5e-9)
CHANNEL = ComChannel(thru=ROUGH, fext=(FEXT,), next=(replace(FEXT, length=0.12),))
LIMITS = (1, 0.0, 0.85)
SIDES = ("tx", "rx", "fext", "next")


@pytest.fixture(scope="module")
def paths():
    return prepare(SMALL, SMALL.cases[0], CHANNEL)


@pytest.fixture(scope="module")
def bank(paths):
    return com_bank.bank(SMALL, paths)


def problem(seed, n=12):
    """A pulse, the matrix of its FFE, and the columns of main and next cursor."""
    rng = np.random.default_rng(seed)
    h = rng.standard_normal(40) * np.exp(-np.arange(40) / 6)
    h[8] = 3.0
    lags = np.array([h[k:] @ h[: h.size - k] for k in range(n)])
    lags[0] += 0.05
    h0 = np.array([h[8 + 4 - i] if 0 <= 12 - i < 40 else 0.0 for i in range(n)])
    hb = np.array([h[9 + 4 - i] if 0 <= 13 - i < 40 else 0.0 for i in range(n)])
    return lags, h0, hb


@pytest.mark.parametrize("seed", range(3))
def test_gram_of_a_toeplitz_matrix(seed):
    lags, h0, hb = problem(seed)
    x = np.linalg.solve(toeplitz(lags), np.stack([h0, hb], axis=1))
    dense = np.stack([h0, hb]) @ x
    for function in (kernels.toeplitz_gram, kernels.toeplitz_gram.py_func):
        assert function(lags, h0, hb, np.empty((2, 12))) == pytest.approx((dense[0, 0], dense[0, 1], dense[1, 1]), rel=1e-9)


def test_factor_grows_row_by_row():
    lags, h0, hb = problem(1)
    places = np.array([0, 1, 2, 3, 7, 8, 11])
    factor, y = np.zeros((7, 7)), np.zeros((7, 2))
    kernels.extend_factor(factor, lags, places, 0, 4, h0, hb, y)
    kernels.extend_factor(factor, lags, places, 4, 7, h0, hb, y)
    full = toeplitz(lags)[np.ix_(places, places)]
    assert np.allclose(factor, cholesky(full, lower=True))
    assert np.allclose(factor @ y, np.stack([h0, hb], axis=1)[places])


def error_of(lags, h0, hb, places, w, b):
    r = toeplitz(lags)[np.ix_(places, places)]
    return w @ r @ w + 1 + b * b - 2 * w @ h0[places] - 2 * b * (w @ hb[places])


@pytest.mark.parametrize("limit", [10.0, 0.3])
def test_taps_have_unit_cursor_their_limits_and_the_error_they_say(limit):
    lags, h0, hb = problem(2)
    arguments = (lags, h0, hb, 6, 4, 1, 2, limit, 0.05, *LIMITS)
    w, places = np.zeros(8), np.zeros(8, np.int64)
    error, b = kernels.solve_ffe(*arguments, w, places)
    w2, places2 = np.zeros(8), np.zeros(8, np.int64)
    assert kernels.solve_ffe.py_func(*arguments, w2, places2) == pytest.approx((error, b))
    assert w == pytest.approx(w2)
    assert w @ h0[places] == pytest.approx(1)
    assert error == pytest.approx(error_of(lags, h0, hb, places, w, b))
    rest = np.delete(np.abs(w / w[4]), 4)
    assert np.max(rest[:5]) <= limit + 1e-9
    assert np.max(rest[5:]) <= 0.05 + 1e-9
    assert 0 <= b <= 0.85


def test_free_taps_are_the_least_squares_ones():
    lags, h0, hb = problem(0)
    w, places = np.zeros(12), np.zeros(12, np.int64)
    error, b = kernels.solve_ffe(lags, h0, hb, 12, 4, 0, 1, 1e9, 1e9, 1, -1e9, 1e9, w, places)
    # gradient of the error on the surface h0 w = 1 vanishes
    slope = toeplitz(lags) @ w - h0 - b * hb
    assert np.linalg.norm(slope - h0 * (slope @ h0) / (h0 @ h0)) < 1e-9
    assert b == pytest.approx(hb @ w)
    assert error == pytest.approx(
        kernels.best_feedback(*kernels.toeplitz_gram(lags, h0, hb, np.empty((2, 12))), 1, -1e9, 1e9)[1]
    )


def every_entry(bank, peaks):
    first, last = SMALL.sample_adjustment
    c, s, o = np.meshgrid(*(np.arange(n) for n in (*peaks.shape, last - first + 1)), indexing="ij")
    return np.stack([c.ravel(), s.ravel(), (peaks[c, s] + first + o).ravel()], axis=1).astype(np.int64)


def test_no_receiver_beats_its_bounds(bank):
    errors, peaks = com_ffe.bounds(bank)
    entries = every_entry(bank, peaks)
    exact = com_ffe.evaluate(bank, entries)
    free = com_ffe.evaluate(bank, entries, None, -1.0, False)
    assert np.all(errors.ravel() <= free * (1 + 1e-9))
    assert np.all(free <= exact * (1 + 1e-9))
    # and with the quantiser's real range the error is larger still
    for i in (0, 100, 200):
        noise = com_ffe.quantiser_noise(bank, *(int(v) for v in entries[i]))
        assert com_ffe.evaluate(bank, entries[i : i + 1], np.array([noise]))[0] >= exact[i] * (1 - 1e-9)


@pytest.mark.parametrize("changes", [{}, {"N_qb": 0}, {"N_wg": 0, "N_fix": 12}, {"S_tn": "d0.2", "N_wg": 1}, {"w_max": 0.2}])
def test_the_bounded_search_finds_the_optimum_of_the_whole_grid(changes):
    sheet = replace(SMALL, **changes)
    paths = prepare(sheet, sheet.cases[0], CHANNEL)
    b = com_bank.bank(sheet, paths)
    entry, error, solved = com_ffe.best_entry(b)
    every, least, _ = com_ffe.best_entry(b, prune=False)
    assert error == pytest.approx(least, rel=1e-12)
    assert np.array_equal(entry, every)
    assert solved < 30


def test_compiled_bounds_and_errors_equal_plain_python(bank):
    rng = np.random.default_rng(3)
    m, n_f = SMALL.M, 9
    theta = np.pi * np.arange(n_f) / (n_f - 1)
    spectra = [rng.uniform(0.5, 2, (m, n_f)) for _ in range(3)]
    x, taps = bank.pulses[0], bank.taps[:2]
    shape = np.abs(np.exp(-1j * np.outer(theta, np.arange(taps.shape[1]))) @ taps.T).T ** 2
    arguments = (x, int(np.argmax(x)), taps, bank.before, m, -1, 1, shape, *spectra, 0.01, 5, np.cos(theta), *LIMITS)
    fast, slow = kernels.bound_ffe(*arguments), kernels.bound_ffe.py_func(*arguments)
    assert np.allclose(fast[0], slow[0])
    assert np.array_equal(fast[1], slow[1])
    entries = np.array([[0, 0, slow[1][0]], [1, 1, slow[1][1] + 1]], np.int64)
    arguments = (
        entries, bank.pulses, bank.taps, bank.autos, bank.before, m, bank.signal, bank.jitter, bank.rest,
        bank.transmitter, bank.far,
        np.array([1e-6, -1e-3]), 5, 20, 8, 3, 1, 2, 0.7, 0.05, *LIMITS, 1e9, True,
    )  # fmt: skip
    assert np.allclose(kernels.evaluate_ffe(*arguments), kernels.evaluate_ffe.py_func(*arguments))


def test_lags_are_those_of_the_samples(paths, bank):
    """The quadratic form in the transmitter's taps against the samples themselves, crosstalk at its worst phase included."""
    c, s = 1, 0
    at = int(np.argmax(bank.pulses[c])) + 3
    lags = np.empty(20)
    noise = kernels.ffe_lags(
        bank.autos[s],
        bank.signal[c, at % SMALL.M],
        bank.jitter[c, at % SMALL.M],
        bank.rest[c],
        bank.transmitter,
        bank.far[c],
        20,
        lags,
    )
    one = com_bank.bank(SMALL, paths, (bank.settings[c],))
    e = com_ffe.equalise(SMALL, paths, one, s, at)
    h = com_ffe.cursors_at(bank, c, s, at)
    signal = np.array([h[k:] @ h[: h.size - k] for k in range(20)])
    quiet = e.spectra.total[:20] - np.eye(20)[0] * e.spectra.step**2 / 12
    assert lags == pytest.approx(signal + quiet / SMALL.mean_square, rel=1e-9)
    assert noise == pytest.approx(quiet[0] / SMALL.mean_square)


def test_a_chosen_setting_says_what_the_search_said(paths, bank):
    (c, s, at), error, _ = com_ffe.best_entry(bank)
    one = com_bank.bank(SMALL, paths, (bank.settings[c],))
    e = com_ffe.equalise(SMALL, paths, one, int(s), int(at))
    assert e.fom == pytest.approx(float(com_ffe.figure(SMALL, error)), abs=1e-9)
    assert e.feed_forward[SMALL.d_w] == 1
    total = sum(e.variances[k] for k in ("N", "TX", "J", "ISI", "XT", "Q"))
    # the search takes the Gaussian law for the range of the quantiser, the last step the true one
    assert 10 * np.log10((SMALL.R_LM * e.main / 3) ** 2 / total) == pytest.approx(e.fom, abs=0.1)


def test_noise_behind_taps():
    rng = np.random.default_rng(4)
    taps, lags = rng.standard_normal(5), np.array([3.0, 1.0, -0.5, 0.2])
    full = np.zeros(12)
    full[:4] = lags
    for k in range(4):
        shifted = np.zeros(5 + k), np.zeros(5 + k)
        shifted[0][:5], shifted[1][k:] = taps, taps
        assert behind(taps, lags, 6)[k] == pytest.approx(shifted[0] @ toeplitz(full[: 5 + k]) @ shifted[1])
    assert behind(taps, lags, 1)[0] == pytest.approx(com_ffe.quadratic(taps, full))


def test_more_bits_are_less_noise():
    values = [com_case(replace(SMALL, N_qb=n), SMALL.cases[0], CHANNEL).com_dfe_db for n in (4, 6, 8, 0)]
    assert values == sorted(values)


def test_both_definitions_of_transmitter_noise():
    draft = com_case(SMALL, SMALL.cases[0], CHANNEL)
    older = com_case(replace(SMALL, S_tn="d0.2"), SMALL.cases[0], CHANNEL)
    same = com_case(
        replace(SMALL, S_tn="d0.2", SNR_TX=SMALL.SNR_TX + 10 * np.log10(SMALL.mean_square)), SMALL.cases[0], CHANNEL
    )
    assert draft.com_db < older.com_db
    assert same.com_db == pytest.approx(draft.com_db, abs=1e-6)


def test_the_sequence_detector_only_helps_and_not_without_feedback():
    case = com_case(SMALL, SMALL.cases[0], CHANNEL)
    assert case.detector.gain_db >= 0
    assert case.com_db == pytest.approx(case.com_dfe_db + case.detector.gain_db)
    assert case.detector.added_noise > 0
    none = replace(SMALL, mlsd="none")
    assert com_case(none, none.cases[0], CHANNEL).com_db == pytest.approx(case.com_dfe_db)
    flat = replace(case.setting, feedback=())
    assert mlsd(SMALL, flat, case.law).gain_db == 0
    # no added noise, no dependence on its penalty
    assert mlsd(replace(SMALL, Delta_COM=0.0), case.setting, case.law).added_noise == 0
    script = mlsd(replace(SMALL, mlsd="r4.50"), case.setting, case.law)
    assert script.gain_db >= 0


def test_added_noise_costs_what_it_should():
    case = com_case(SMALL, SMALL.cases[0], CHANNEL)
    loud = replace(case.law, sigma=float(np.hypot(case.law.sigma, case.detector.added_noise)))
    assert 20 * np.log10(loud.quantile(SMALL.DER_0) / case.law.quantile(SMALL.DER_0)) == pytest.approx(3, abs=1e-4)


ONE = replace(SMALL, c_pre=((0.0,),), c_post=((0.0,),), g_DC=(-2.0,), g_DC2=(0.0,))


def com_of(sheet, channel=CHANNEL):
    return com_case(sheet, sheet.cases[0], channel).com_db


@pytest.mark.parametrize(
    "changes",
    [
        [{"T_r": t} for t in (2e-12, 4e-12, 7e-12)], [{"eta_0": e} for e in (0.0, 6e-18, 3e-17)],
        [{"sigma_RJ": s} for s in (0.0, 0.01, 0.02)], [{"A_DD": a} for a in (0.0, 0.02, 0.04)],
        [{"SNR_TX": s} for s in (40.0, 33.0, 30.0)], [{"DER_0": d} for d in (1e-3, 2e-4, 1e-6)],
    ],
)  # fmt: skip
def test_com_falls_as_things_get_worse(changes):
    values = [com_of(replace(ONE, **change)) for change in changes]
    assert values == sorted(values, reverse=True)


def test_a_receiver_without_noise_is_the_limit_of_little():
    """The sequence detector's rule adds noise of the receiver's shape, however little the receiver has of its own."""
    none, little = (com_case(replace(ONE, eta_0=e), ONE.cases[0], CHANNEL).detector for e in (0.0, 1e-22))
    assert none.added_noise == pytest.approx(little.added_noise, rel=1e-3)
    assert none.gain_db == pytest.approx(little.gain_db, abs=1e-3)


def test_com_falls_with_the_package():
    def longer(z):
        ends = {side: replace(getattr(ONE.cases[0], side), z_p=(z, *getattr(ONE.cases[0], side).z_p[1:])) for side in SIDES}
        return replace(ONE, cases=(replace(ONE.cases[0], **ends),))

    values = [com_of(longer(z), ComChannel(thru=LINE)) for z in (0.012, 0.05, 0.1)]
    assert values == sorted(values, reverse=True)


def test_scaling_everything_without_receiver_noise_changes_nothing():
    quiet = replace(ONE, eta_0=0.0)
    halves = {name: getattr(quiet, name) / 2 for name in ("A_v", "A_fe", "A_ne")}
    assert com_of(replace(quiet, **halves)) == pytest.approx(com_of(quiet), abs=1e-6)


def test_aggressors_count_in_any_order_and_only_against():
    other = replace(FEXT, gamma0=45.0)
    both = com_of(ONE, ComChannel(thru=ROUGH, fext=(FEXT, other), next=CHANNEL.next))
    assert com_of(ONE, ComChannel(thru=ROUGH, fext=(other, FEXT), next=CHANNEL.next)) == pytest.approx(both, abs=1e-9)
    assert both < com_of(ONE, ComChannel(thru=ROUGH, fext=(FEXT,))) < com_of(ONE, ComChannel(thru=ROUGH))


def test_com_against_length_gives_a_reach():
    base = standard("802.3dj-cr")
    sheet = replace(
        sparse(base), c_pre=((0.0,),), c_post=((0.0,),), g_DC=(-20.0,), g_DC2=(-3.0,), Delta_f=25e6, N_wg=0, mlsd="r4.50",
        N_fix=22,
        N_max=22,
        sample_adjustment=(-1, 2),
    )  # fmt: skip
    case = next(c for c in sheet.cases if c.name == "HN-HH")
    known = {}
    found = [
        com_reach(
            sheet, case, lambda length: cable_channel(length, 26, ("HN", "HH")), (1.4, 2.2), d, tolerance=0.3, known=known
        ).length
        for d in ("DFE", "MLSD")
    ]
    assert 1.0 < found[0] < found[1] < 3.0
    curve = np.array([row[1] for row in com_reach(sheet, case, cable_channel, (1.4, 2.2), "DFE", known=known).curve])
    assert np.all(np.diff(curve) < 0)
    assert com_reach(sheet, case, cable_channel, (1.4, 2.2), target_db=30.0, known=known).outcome == "too short"
    with pytest.raises(ValueError, match="bracket"):
        com_reach(sheet, case, cable_channel, (2.0, 1.0))
    with pytest.raises(ValueError, match="detector"):
        com_reach(sheet, case, cable_channel, detector="none")


def test_sparse_keeps_zero():
    thin = sparse(DJ)
    assert all(0.0 in v for v in (*thin.c_pre, *thin.c_post, thin.g_DC, thin.g_DC2))
    assert len(thin.tx_settings[0]) < 60


# --- against other programs ---


@pytest.fixture(scope="module")
def reference(channels_dir):
    data = channels_dir.parent
    return data, {(r.channel, r.config): r for r in validate_com.references(data, slow=False)}


@pytest.mark.parametrize(
    ("channel", "config", "within"),
    [
        ("synth224_300mm thru", "dj1", 0.02), ("synth224_300mm thru", "dj1, SNR_TX 30.947", 0.03),
        ("synth224_300mm thru", "dj12", 0.02),
        ("synth224_300mm + fext1 + next1", "dj12", 0.03), ("synth224_300mm thru", "dj12 + MLSE 1", 0.02),
        ("synth224_300mm thru", "dj12 + MLSE 1 + floating", 0.05), ("CA_19p75dB thru only", "dj12", 0.01),
        ("synth224_300mm thru", "D3.3 KR A2, g_DC -2 0", 0.05), ("synth224_300mm + fext1 + next1", "D3.3 KR A2, g_DC 0", 0.05),
        ("synth224_300mm thru", "D3.3 KR B1, g_DC -2 0", 0.15),
    ],
)  # fmt: skip
def test_numbers_of_other_programs(reference, channel, config, within):
    data, every = reference
    row = validate_com.compare(data, every[channel, config])
    assert abs(row["difference_db"]) < within, row
    assert row["FOM"] == pytest.approx(row["FOM_reference"], abs=0.02)
    if "COM_DFE" in row:
        assert row["COM_DFE"] == pytest.approx(row["COM_DFE_reference"], abs=within)


def test_floating_taps_are_where_the_script_puts_them(reference):
    data, every = reference
    ref = every["synth224_300mm thru", "dj12 + MLSE 1 + floating"]
    ours = com_case(
        ref.sheet, ref.sheet.cases[0], open_channel(ref.sheet, data / "channels" / validate_com.CHANNELS[ref.channel][0])
    )
    taps = np.array(ours.setting.feed_forward)
    assert (np.flatnonzero(taps[15:]) + 15 - 6).tolist() == list(range(14, 22))
