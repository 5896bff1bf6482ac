"""One entry: a link and an engine in, a result out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dsp import check
from serdes.link import Link
from serdes.semi_analytic import SemiAnalytic
from serdes.statistical import Statistical

if TYPE_CHECKING:
    from serdes.result import LinkResult
    from serdes.time_domain import TimeDomain


def simulate(link: Link, engine: Statistical | SemiAnalytic | TimeDomain, rng: np.random.Generator | None = None) -> LinkResult:
    """Run ``engine`` on ``link``.

    Only `TimeDomain` draws random numbers: it needs ``rng`` and nothing else may have one. Raises ValueError otherwise.
    """
    check.instance("simulate", "link", link, Link)
    if isinstance(engine, Statistical | SemiAnalytic):
        if rng is not None:
            raise ValueError(f"{type(engine).__name__} draws no random numbers: leave rng out")
        return engine.run(link)
    from serdes.time_domain import TimeDomain

    check.instance("simulate", "engine", engine, (Statistical, SemiAnalytic, TimeDomain))
    if rng is None:
        raise ValueError("TimeDomain needs rng, a numpy.random.Generator, for example numpy.random.default_rng(1)")
    return engine.run(link, rng)
