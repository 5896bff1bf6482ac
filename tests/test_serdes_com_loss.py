"""Losses beside COM: closed forms of the return loss, crosstalk noise, deviation from a smooth loss."""

from dataclasses import replace

import numpy as np
import pytest

from channels.copper import ShuntCapacitor
from channels.lines import StandardLine
from channels.network import Chain
from dsp.units import fF, mm, ns
from experiments.studies import validate_com
from serdes import com_loss
from serdes.com_channel import ComChannel, open_channel
from serdes.com_standards import standard

KR = standard("802.3ck-kr")
SHEET = replace(KR, Delta_f=50e6, N=400, N_bx=0)
F = np.arange(1201) * 50e6
LINE = StandardLine(
    length=200 * mm, impedance=100.0, a1=3.8206e-4 * ns**0.5 / mm, a2=9.5909e-5 * ns / mm, tau=5.79e-3 * ns / mm
)


def erl(s11, sheet=SHEET):
    return com_loss.effective_return_loss(sheet, F, s11, 0)


def reflection(size, delay):
    return size * np.exp(-2j * np.pi * F * delay)


def test_a_matched_line_returns_nothing():
    assert erl(np.zeros(F.size, complex)) == np.inf
    s = LINE.s(F, 100.0)
    assert com_loss.effective_return_loss(SHEET, F, s[0, 0], 0) == np.inf


def test_a_single_reflection_is_its_size():
    """Far behind the gate a reflection that filters leave alone comes back as a pulse of its own size."""
    wide = replace(SHEET, f_r=10.0, T_r_TDR=3e-12, Tukey=False)
    f = np.arange(16001) * 50e6
    s11 = 0.1 * np.exp(-2j * np.pi * f * 2e-9)
    assert com_loss.effective_return_loss(wide, f, s11, 0) == pytest.approx(20, abs=0.15)


def test_filters_only_take_away_and_decibels_are_of_amplitude():
    one = erl(reflection(0.2, 2e-9))
    assert one > -20 * np.log10(0.2)
    assert erl(reflection(0.1, 2e-9)) == pytest.approx(one + 20 * np.log10(2), abs=0.05)


def test_reflections_add_at_most():
    one, two = reflection(0.1, 2e-9), reflection(0.1, 3.3e-9)
    alone = erl(one)
    assert alone - 20 * np.log10(2) - 0.05 <= erl(one + two) < alone


def test_the_gate_hides_the_fixture_and_weighs_what_is_near():
    near = reflection(0.2, 0.2e-9)
    assert erl(near, replace(SHEET, t_fx=(0.5e-9, 0.0))) > erl(near) + 20
    t = np.array([-1e-12, 0.0, 22 / SHEET.f_b, 23 / SHEET.f_b])
    gate = com_loss.reflection_gate(replace(SHEET, N_bx=21), t, 0.0)
    assert gate[0] == 0
    assert gate[2] == pytest.approx(1.618 * 0.618)
    assert gate[1] == pytest.approx(1.618 * 0.618 / np.e)
    assert gate[3] == 1
    lossy = com_loss.reflection_gate(replace(SHEET, N_bx=21, beta_x=1e9), t, 0.0)
    assert lossy[1] < gate[1]


def test_what_comes_after_the_record_does_not_count():
    assert erl(reflection(0.2, 12e-9), replace(SHEET, N=100)) > 60


def test_a_smooth_loss_does_not_deviate_and_a_ripple_does():
    smooth = com_loss.losses(SHEET, ComChannel(thru=LINE))
    assert smooth.deviation_db < 0.01
    assert smooth.fitted_loss_db == pytest.approx(smooth.insertion_loss_db, abs=0.01)
    assert smooth.crosstalk == 0
    bump = ShuntCapacitor(capacitance=60 * fF)
    rough = com_loss.losses(SHEET, ComChannel(thru=Chain((bump, LINE, bump))))
    assert rough.deviation_db > 0.02
    assert max(rough.erl_db) < 25
    assert com_loss.losses(replace(SHEET, N=0), ComChannel(thru=LINE)).erl_db is None


def test_deviation_of_a_ripple_is_its_rms_where_the_weights_are_one():
    """Far below f_b everything of (93A-57) is 1, and FOM_ILD of a ripple of 0.2 dB is 0.2 / sqrt 2."""
    sheet = replace(KR, f_min=50e6, f_2=2e9)
    f = np.arange(1, 401) * 5e6
    s21 = 10 ** (-(2 + 3e-5 * np.sqrt(f) + 1e-9 * f + 0.2 * np.cos(2 * np.pi * f * 20e-9)) / 20)
    fitted, deviation = com_loss.insertion_loss_fit(sheet, f, s21 + 0j)
    assert deviation == pytest.approx(0.2 / np.sqrt(2), rel=0.02)
    assert fitted == pytest.approx(2 + 3e-5 * np.sqrt(f) + 1e-9 * f, abs=0.03)
    assert com_loss.insertion_loss_fit(sheet, f, (s21 + 0j) ** 2)[1] == pytest.approx(2 * deviation, rel=0.03)


@pytest.mark.parametrize(
    ("part", "weight"), [(0.25, 0.8105 * 0.9695 * 1.0), (0.5, 0.4053 * 0.6651 * 0.9625), (0.75, 0.0901 * 0.2818 * 0.5)]
)
def test_deviation_at_one_frequency_has_the_weight_of_the_signal_there(part, weight):
    """1 dB at a single point: sinc^2, transmitter (corner 0.59357 f_b) and receiver (0.75 f_b) filter at ``part`` of f_b, by hand."""
    sheet = replace(KR, f_min=50e6, f_2=50e9)
    f = np.arange(1, 1601) * sheet.f_b / 1600
    loss = np.full(f.size, 6.0)
    loss[round(1600 * part) - 1] += 1.0
    _, deviation = com_loss.insertion_loss_fit(sheet, f, 10 ** (-loss / 20) + 0j)
    assert deviation == pytest.approx(np.sqrt(weight * (f[1] - f[0]) / (50e9 - 50e6)), rel=0.02)


def test_crosstalk_noise_adds_in_power_and_scales():
    weak = StandardLine(length=0.1, impedance=100.0, gamma0=40.0, tau=5e-9)
    one = com_loss.integrated_crosstalk_noise(SHEET, ComChannel(thru=LINE, fext=(weak,)))
    assert com_loss.integrated_crosstalk_noise(SHEET, ComChannel(thru=LINE, fext=(weak,), next=(weak,))) == pytest.approx(
        one * np.sqrt(2)
    )
    assert com_loss.integrated_crosstalk_noise(replace(SHEET, A_ft=1.2), ComChannel(thru=LINE, fext=(weak,))) == pytest.approx(
        2 * one
    )


@pytest.mark.parametrize(
    ("channel", "icn_mv", "loss_db"),
    [("DPO_4in + FENG89 + NENF1112", 1.0860082663358177, 12.171749323585072), ("CA_19p75dB + fext1 + next2 + next7",
    2.0964481048939976, 19.737610104309226), ("C2M IL14 + FEXT1", 3.588570158453416, 13.935101898586836)],
)  # fmt: skip
def test_crosstalk_noise_and_loss_of_the_script(channels_dir, channel, icn_mv, loss_db):
    thru, fext, next_ = validate_com.CHANNELS[channel]
    found = com_loss.losses(
        KR, open_channel(KR, channels_dir / thru, tuple(channels_dir / f for f in fext), tuple(channels_dir / f for f in next_))
    )
    assert found.crosstalk * 1e3 == pytest.approx(icn_mv, rel=2e-5)
    assert found.insertion_loss_db == pytest.approx(loss_db, rel=1e-9)
