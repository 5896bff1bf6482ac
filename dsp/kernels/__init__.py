"""Compiled loops: the only place that knows numba. Arrays in and out, fixed types, no checks; each also runs as plain Python.

Callers import this package inside the function that needs it and check their arguments first.
"""

from dsp.kernels.codes import (
    chase,
    error_walk,
    reed_solomon_correct,
    reed_solomon_locator,
    reed_solomon_remainders,
)
from dsp.kernels.coherent import (
    blind_phase,
    butterfly,
    normal_equations,
)
from dsp.kernels.com_dfe import (
    best_groups,
    bounded_taps,
    greedy_groups,
    search_dfe,
    walk_settings,
)
from dsp.kernels.com_ffe import (
    best_feedback,
    bound_ffe,
    evaluate_ffe,
    extend_factor,
    ffe_lags,
    limited_taps,
    solve_ffe,
    toeplitz_gram,
)
from dsp.kernels.counting import (
    count_eye,
    refine,
    tally,
)
from dsp.kernels.distribution import (
    cumulant_function,
    eye_characteristic,
    log_tail,
    log_tails,
    mills_ratio,
    saddle_quantile,
)
from dsp.kernels.equalizer import (
    phase_grams,
)
from dsp.kernels.optics import (
    rate_equations,
    threshold_gradient,
    threshold_histogram,
)
from dsp.kernels.patterns import (
    lfsr,
)
from dsp.kernels.receiver import (
    receive,
)
from dsp.kernels.sequences import (
    viterbi,
    viterbi_pam4,
)
from dsp.kernels.taps import (
    confine,
)
from dsp.kernels.waveforms import (
    baseline,
    edge_areas,
    fir,
    gaussian,
    interpolate,
    jitter_walk,
    look_up,
    mix,
    sample_at,
    splitmix,
    weave,
)

__all__ = [
    "baseline",
    "best_feedback",
    "best_groups",
    "blind_phase",
    "bound_ffe",
    "bounded_taps",
    "butterfly",
    "chase",
    "confine",
    "count_eye",
    "cumulant_function",
    "edge_areas",
    "error_walk",
    "evaluate_ffe",
    "extend_factor",
    "eye_characteristic",
    "ffe_lags",
    "fir",
    "gaussian",
    "greedy_groups",
    "interpolate",
    "jitter_walk",
    "lfsr",
    "limited_taps",
    "log_tail",
    "log_tails",
    "look_up",
    "mills_ratio",
    "mix",
    "normal_equations",
    "phase_grams",
    "rate_equations",
    "receive",
    "reed_solomon_correct",
    "reed_solomon_locator",
    "reed_solomon_remainders",
    "refine",
    "saddle_quantile",
    "sample_at",
    "search_dfe",
    "solve_ffe",
    "splitmix",
    "tally",
    "threshold_gradient",
    "threshold_histogram",
    "toeplitz_gram",
    "viterbi",
    "viterbi_pam4",
    "walk_settings",
    "weave",
]
