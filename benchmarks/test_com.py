"""Channel Operating Margin with the channel at hand: a fixed equaliser, the whole search of both annexes."""

from dataclasses import replace

import pytest

from channels.copper import ShuntCapacitor
from channels.lines import StandardLine
from channels.network import Chain
from dsp.units import fF, mm, ns
from serdes.com import com, com_case
from serdes.com_channel import ComChannel
from serdes.com_standards import standard

LINE = StandardLine(
    length=250 * mm, impedance=100.0, a1=3.8206e-4 * ns**0.5 / mm, a2=9.5909e-5 * ns / mm, tau=5.79e-3 * ns / mm
)
ROUGH = Chain((ShuntCapacitor(capacitance=40 * fF), LINE, ShuntCapacitor(capacitance=40 * fF)))
QUIET = StandardLine(length=0.1, impedance=100.0, gamma0=45.0, tau=5e-9)
CHANNEL = ComChannel(thru=ROUGH, fext=(QUIET,), next=(replace(QUIET, length=0.11),))
KR = standard("802.3ck-kr")
DJ = standard("802.3dj-kr")


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels in memory before anything is timed."""
    small = replace(KR, g_DC=(0.0,), g_DC2=(0.0,), cases=KR.cases[:1], Delta_f=100e6)
    com_case(small, small.cases[0], CHANNEL)
    small = replace(DJ, g_DC=(0.0,), g_DC2=(0.0,), c_pre=((0.0,),), c_post=((0.0,),), cases=DJ.cases[:1], Delta_f=100e6)
    com_case(small, small.cases[0], CHANNEL)


def test_fixed_equaliser(benchmark):
    """Goal: 0.2 s of one core."""
    sheet = replace(KR, c_pre=((0.0,), (0.0,), (-0.2,)), c_post=((0.0,),), g_DC=(-10.0,), g_DC2=(-2.0,), cases=KR.cases[:1])
    benchmark(com, sheet, ComChannel(thru=ROUGH), beside=False)


def test_backplane_sheet_two_cases_two_aggressors(benchmark):
    """1.28 million settings. Goal: 10 s of one core."""
    benchmark.pedantic(com, (KR, CHANNEL), {"beside": False}, rounds=1)


def test_draft_search_of_one_case(benchmark):
    """192,276 settings at 33 phases, floating taps, quantiser. Goal: 60 s of two cores."""
    benchmark.pedantic(com_case, (DJ, DJ.cases[1], ComChannel(thru=replace(LINE, length=150 * mm))), rounds=1)


def test_chip_to_module(benchmark):
    """The eyes of the best settings."""
    sheet = standard("802.3ck-c2m")
    benchmark.pedantic(com_case, (sheet, sheet.cases[0], ComChannel(thru=replace(LINE, length=120 * mm))), rounds=1)
