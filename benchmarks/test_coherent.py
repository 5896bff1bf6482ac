"""The coherent chain: 65 536 symbols in each polarisation over 80 km, and its parts."""

import numpy as np
import pytest

from channels.amplifier import Edfa
from channels.coherent import CoherentChannel, Span
from channels.fiber import SingleModeFiber
from channels.polarization import Polarization
from dsp.units import GBd, km, ps
from serdes.coherent import CoherentLink
from serdes.coherent_statistical import CoherentStatistical
from serdes.coherent_time_domain import CoherentTimeDomain

SPAN = Span(fiber=SingleModeFiber(length=80 * km), amplifier=Edfa())
LINK = CoherentLink(
    symbol_rate=59.84375 * GBd, channel=CoherentChannel(spans=(SPAN,), polarization=Polarization(dgd=5 * ps)), osnr_db=22.0
)


@pytest.mark.parametrize("kerr", ["gaussian", "split step"])
def test_whole_chain(benchmark, kerr):
    """Symbols to counted errors, one record."""
    result = benchmark(lambda: CoherentTimeDomain(kerr=kerr).run(LINK, np.random.default_rng(1)))
    assert result.outcome == "ok"


def test_linear_face(benchmark):
    benchmark(CoherentStatistical().run, LINK)
