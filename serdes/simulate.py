"""One entry: a link and an engine in, a result out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dsp import check
from serdes.link import Link
from serdes.semi_analytic import SemiAnalytic
from serdes.statistical import Statistical

if TYPE_CHECKING:
    from serdes.coherent import CoherentLink, CoherentResult
    from serdes.coherent_statistical import CoherentStatistical
    from serdes.coherent_time_domain import CoherentTimeDomain
    from serdes.result import BasebandResult, LinkResult
    from serdes.time_domain import TimeDomain


@overload
def simulate(
    link: Link, engine: Statistical | SemiAnalytic | TimeDomain, rng: np.random.Generator | None = None
) -> BasebandResult: ...


@overload
def simulate(
    link: CoherentLink,
    engine: Statistical | TimeDomain | CoherentStatistical | CoherentTimeDomain,
    rng: np.random.Generator | None = None,
) -> CoherentResult: ...


def simulate(link: Any, engine: Any, rng: np.random.Generator | None = None) -> LinkResult:
    """Run ``engine`` on ``link``, which may be coherent: `Statistical` is its linear face, `TimeDomain` counts as many symbols
    in each polarisation.

    Only engines that count draw random numbers: they need ``rng`` and nothing else may have one. Raises ValueError otherwise.
    """
    from serdes.coherent import CoherentLink

    if isinstance(link, CoherentLink):
        return _coherent(link, engine, rng)
    check.instance("simulate", "link", link, (Link, CoherentLink))
    if isinstance(engine, Statistical | SemiAnalytic):
        _no_rng(engine, rng)
        return engine.run(link)
    from serdes.time_domain import TimeDomain

    check.instance("simulate", "engine", engine, (Statistical, SemiAnalytic, TimeDomain))
    return engine.run(link, _given(engine, rng))


def _coherent(link: CoherentLink, engine: Any, rng: np.random.Generator | None) -> CoherentResult:
    from serdes.coherent_statistical import CoherentStatistical
    from serdes.coherent_time_domain import CoherentTimeDomain
    from serdes.time_domain import TimeDomain

    check.instance("simulate", "engine", engine, (Statistical, TimeDomain, CoherentStatistical, CoherentTimeDomain))
    if isinstance(engine, Statistical | CoherentStatistical):
        _no_rng(engine, rng)
        return (CoherentStatistical() if isinstance(engine, Statistical) else engine).run(link)
    if isinstance(engine, TimeDomain) and engine != TimeDomain(n_symbols=engine.n_symbols):
        raise ValueError("a coherent link takes nothing but n_symbols from TimeDomain: use CoherentTimeDomain for what it has")
    whole = CoherentTimeDomain(n_symbols=engine.n_symbols) if isinstance(engine, TimeDomain) else engine
    return whole.run(link, _given(engine, rng))


def _no_rng(engine: Any, rng: np.random.Generator | None) -> None:
    if rng is not None:
        raise ValueError(f"{type(engine).__name__} draws no random numbers: leave rng out")


def _given(engine: Any, rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        name = type(engine).__name__
        raise ValueError(f"{name} needs rng, a numpy.random.Generator, for example numpy.random.default_rng(1)")
    return rng
