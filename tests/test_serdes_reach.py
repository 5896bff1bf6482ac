import functools
import math

import numpy as np
import pytest
from simple_links import Flat, Nyquist, density_for, simple_link

from dsp.constellation import pam
from dsp.fec import KP4
from serdes.link import RetimedLink
from serdes.metrics import required_snr_db, symbol_error_ratio
from serdes.operating_point import operating_point
from serdes.reach import STEPS, Reach, Target, reach, settle
from serdes.setups import setup

LOSS_DB = 8.0
"""Of the simple cable, per metre, alike at every frequency: the SNR in white noise falls by as much."""
SNR_DB = 40.0
BRACKET = (0.05, 40.0)
TARGET = Target(error_ratio=1e-4, margin_db=3.0)
NEED_DB = required_snr_db(1e-4, pam(4))


def simple_cable(length, snr_db=SNR_DB):
    link = simple_link(Nyquist(gain=10 ** (-LOSS_DB * length / 20)))
    return link.vary({"rx.noise_density": density_for(snr_db, link)})


@pytest.mark.parametrize("margin_db", [0.0, 3.0, 6.0])
def test_reach_of_a_known_cable(margin_db):
    found = reach(simple_cable, Target(error_ratio=1e-4, margin_db=margin_db), (0.0, 10.0))
    assert found.outcome == "found"
    assert found.length == pytest.approx((SNR_DB - NEED_DB - margin_db) / LOSS_DB, rel=0.005)
    assert found.point.snr_db == pytest.approx(NEED_DB + margin_db, abs=0.1)
    assert found.binding == "thermal"
    assert found.reason == "the margin is used up; the binding cause is thermal, 100 % of the error"
    assert 3 <= found.evaluations < 15
    assert len(found.points) == 1


@pytest.mark.parametrize("tolerance", [0.05, 1e-4])
def test_tolerance(tolerance):
    exact = (SNR_DB - NEED_DB - 3) / LOSS_DB
    assert reach(simple_cable, TARGET, (0.1, 10.0), tolerance).length == pytest.approx(exact, rel=2 * tolerance)


def test_each_length_is_settled_once():
    lengths = []

    def link_at(length):
        lengths.append(length)
        return simple_cable(length)

    found = reach(link_at, TARGET, (0.1, 10.0))
    assert len(lengths) == len(set(lengths)) == found.evaluations


def test_missed_at_once():
    found = reach(lambda x: simple_cable(x, snr_db=20.0), TARGET, (1.0, 10.0))
    assert (found.length, found.outcome, found.evaluations) == (1.0, "too short", STEPS)
    missed = NEED_DB + 3 - (20 - LOSS_DB)
    assert found.reason == f"the target is missed at every length, by {missed:.2f} dB at 1 m, most by thermal"


def test_met_to_the_end():
    found = reach(simple_cable, TARGET, (0.1, 1.0))
    assert (found.length, found.outcome, found.evaluations) == (1.0, "beyond bracket", 1)
    assert "still met with 10." in found.reason
    assert "longest length, 1 m" in found.reason


def test_a_cable_that_ends_in_nothing():
    def link_at(length):
        return simple_cable(length) if length < 3 else simple_link(Flat(gain=0.0))

    found = reach(link_at, TARGET, (0.5, 6.0))
    assert found.outcome == "found"
    assert found.length == pytest.approx((SNR_DB - NEED_DB - 3) / LOSS_DB, rel=0.01)
    dead = reach(lambda _: simple_link(Flat(gain=0.0)), TARGET, (0.5, 6.0))
    assert dead.outcome == "too short"
    assert dead.binding == "no signal"
    assert "by 100.00 dB" in dead.reason


@pytest.mark.parametrize("bracket", [(1.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (0.0, 1.0, 2.0)])
def test_a_bracket_must_rise(bracket):
    with pytest.raises(ValueError, match=r"bracket must be \(low, high\) with 0 <= low < high \[m\], got"):
        reach(simple_cable, TARGET, bracket)


@pytest.mark.parametrize("bracket", [None, (math.nan, 1.0), (0.0, math.nan), (0.0, "5")])
def test_a_bracket_is_two_numbers(bracket):
    with pytest.raises(ValueError, match=r"reach\.bracket.* must be a (tuple|finite)"):
        reach(simple_cable, TARGET, bracket)


@pytest.mark.parametrize("tolerance", [-1.0, 0.0, math.nan, "fine"])
def test_a_tolerance_is_positive(tolerance):
    with pytest.raises(ValueError, match=r"reach\.tolerance must be"):
        reach(simple_cable, TARGET, (0.5, 6.0), tolerance)


@pytest.mark.parametrize(("field", "value"), [("error_ratio", 0.0), ("error_ratio", 0.5), ("error_ratio", math.nan),
                                              ("margin_db", 100.0), ("margin_db", "3")])  # fmt: skip
def test_wrong_targets_are_refused(field, value):
    with pytest.raises(ValueError, match=f"Target.{field} must be"):
        Target(**{"error_ratio": 1e-4, field: value})


def test_excess():
    point = operating_point(simple_cable(1.0))
    assert TARGET.excess_db(point) == pytest.approx(SNR_DB - LOSS_DB - NEED_DB - 3)
    assert TARGET.required_snr_db(point.link) == pytest.approx(NEED_DB)
    assert TARGET.excess_db(operating_point(simple_link(Flat(gain=0.0)))) == -100


# Links in series.


def test_two_equal_segments_share_the_target():
    both = RetimedLink(segments=(simple_cable(1.0), simple_cable(1.0)))
    points = settle(both)
    assert len(points) == 2
    half = required_snr_db(0.5e-4, pam(4))
    assert TARGET.excess_db(*points) == pytest.approx(SNR_DB - LOSS_DB - half - 3, abs=1e-6)
    # Ten alike share it among ten.
    tenth = required_snr_db(1e-5, pam(4))
    assert TARGET.excess_db(*(points * 5)) == pytest.approx(SNR_DB - LOSS_DB - tenth - 3, abs=1e-6)


def test_the_excess_is_what_all_may_lose_until_the_ratios_add_up():
    snrs = (25.0, 23.5, 24.0)
    points = settle(RetimedLink(segments=tuple(simple_cable(0.0, snr) for snr in snrs)))
    excess = TARGET.excess_db(*points)
    total = sum(symbol_error_ratio(snr - 3 - excess, pam(4)) for snr in snrs)
    assert total == pytest.approx(1e-4, rel=1e-6)


def test_a_strong_segment_costs_nothing():
    weak, strong = settle(RetimedLink(segments=(simple_cable(1.0), simple_cable(0.0, 60.0))))
    assert TARGET.excess_db(weak, strong) == pytest.approx(TARGET.excess_db(weak), abs=1e-6)


def test_reach_between_retimers():
    def link_at(length):
        return RetimedLink(segments=(simple_cable(0.0), simple_cable(length), simple_cable(0.0)), fec=KP4)

    found = reach(link_at, TARGET, (0.1, 10.0))
    assert found.length == pytest.approx((SNR_DB - NEED_DB - 3) / LOSS_DB, rel=0.01)
    assert len(found.points) == 3
    assert found.point is found.points[1]
    dead = reach(lambda x: RetimedLink(segments=(simple_cable(x), simple_link(Flat(gain=0.0)))), TARGET, (0.1, 10.0))
    assert (dead.outcome, dead.binding) == ("too short", "no signal")


def test_settling_near_points_of_another_number_of_segments():
    link = simple_cable(1.0)
    (alone,) = settle(link, like=settle(RetimedLink(segments=(link, link))))
    assert alone.snr_db == pytest.approx(SNR_DB - LOSS_DB)


# Passive twinax. Bands: what standards promise and what is shipped, and a factor of uncertainty on either side.


@functools.cache
def twinax(rate, gauge, hosts=None) -> Reach:
    s = setup(rate)
    found = reach(lambda x: s.link(x, gauge, hosts), s.target(), BRACKET)
    assert found.outcome == "found"
    return found


def test_100g_reach():
    assert 1.5 < twinax("100G", 26).length < 3.5


def test_200g_reach_between_long_hosts():
    assert 0.4 < twinax("200G", 26, ("HN", "HH")).length < 1.7


def test_200g_reach_between_short_hosts():
    assert 1.8 < twinax("200G", 26, ("HL", "HL")).length < 3.3


@pytest.mark.parametrize(
    ("rate", "hosts"), [("25G", None), ("50G", None), ("100G", None), ("200G", ("HN", "HH")), ("200G", ("HL", "HL"))]
)
def test_thinner_wire_reaches_less(rate, hosts):
    assert 0.6 < twinax(rate, 30, hosts).length / twinax(rate, 26, hosts).length < 0.75


def test_every_doubling_of_the_rate_costs_reach():
    lengths = [twinax(rate, 26).length for rate in ("25G", "50G", "100G")] + [twinax("200G", 26, ("HN", "HH")).length]
    assert np.all(np.diff(lengths) < -0.5)
    # At its reach every rate works against a like loss: the gap to the bound is what counts.
    for rate, hosts in (("50G", None), ("100G", None), ("200G", ("HN", "HH"))):
        point = twinax(rate, 26, hosts).point
        assert point.snr_db == pytest.approx(setup(rate).target().required_snr_db(point.link) + 3, abs=0.15)


def test_better_hosts_reach_further():
    worst, middle, best = (twinax("200G", 26, pair).length for pair in (("HN", "HH"), ("HN", "HN"), ("HL", "HL")))
    assert worst < middle < best


def test_margin_costs_reach():
    s = setup("100G")
    lengths = [reach(lambda x: s.link(x), s.target(margin), BRACKET).length for margin in (0.0, 3.0, 5.0)]
    assert lengths[0] > lengths[1] + 0.3 > lengths[2] + 0.6


def test_a_margin_that_rises_before_it_falls():
    """A short cable reflects more than it loses: what fails at 0.1 m may hold at 1 m. The last crossing counts."""

    def link_at(length):
        return simple_cable(1.0 if length < 0.3 else length, snr_db=SNR_DB - (12.0 if length < 0.3 else 0.0))

    found = reach(link_at, TARGET, (0.05, 10.0))
    assert found.outcome == "found"
    assert found.length == pytest.approx((SNR_DB - NEED_DB - 3) / LOSS_DB, rel=0.01)
