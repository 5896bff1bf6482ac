"""What Hamming(128,120) leaves of a bit error ratio, and back: the inner code of 200 Gb/s optical lanes in closed form.

Counted once with `dsp.hamming.InnerCode` as it is by default (pairs, six test bits; the textbook form leaves 2 to 7 % more) on PAM4 in white noise, 1e5 to 3e6 words a point;
interpolated on logarithms. Below the table the ratio falls with the fourth power, which is what the last points have and what soft
decisions give a code of distance 4; above it, where the code no longer helps, the ratio stays as it is.
"""

from __future__ import annotations

import numpy as np

from dsp import check

OVERHEAD = 128 / 120 * 1089 / 1088
"""Symbol rate with the code over that without: 8 bits for every 120, and one word of padding for every 1088 (IEEE P802.3dj)."""
_BEFORE = np.log(
    [
        1.19867e-3,
        1.79713e-3,
        2.49891e-3,
        3.49813e-3,
        4.0050e-3,
        4.84783e-3,
        6.0073e-3,
        6.99731e-3,
        1.002975e-2,
        1.400908e-2,
        2.0051e-2,
    ]
)
_AFTER = np.log(
    [1.392e-6, 7.025e-6, 2.1817e-5, 7.738e-5, 1.2773e-4, 2.4219e-4, 5.1687e-4, 8.4881e-4, 2.66154e-3, 6.69367e-3, 1.552058e-2]
)
_POWER = 4.0


def after_inner(bit_error_ratio: float) -> float:
    """Bit error ratio behind the decoder for one of ``bit_error_ratio`` before it, errors of white noise."""
    check.between("after_inner", "bit_error_ratio", bit_error_ratio, 0, 0.5)
    if bit_error_ratio == 0:
        return 0.0
    x = float(np.log(bit_error_ratio))
    if x < _BEFORE[0]:
        return float(np.exp(_AFTER[0] + _POWER * (x - _BEFORE[0])))
    if x > _BEFORE[-1]:
        rise = (_AFTER[-1] - _AFTER[-2]) / (_BEFORE[-1] - _BEFORE[-2])
        return min(float(np.exp(_AFTER[-1] + rise * (x - _BEFORE[-1]))), bit_error_ratio)
    return float(np.exp(np.interp(x, _BEFORE, _AFTER)))


def before_inner(bit_error_ratio: float) -> float:
    """The ratio before the decoder that leaves ``bit_error_ratio`` behind it. ``ValueError`` above 1e-2, where it helps little."""
    check.between("before_inner", "bit_error_ratio", bit_error_ratio, 1e-30, 1e-2)
    y = float(np.log(bit_error_ratio))
    if y < _AFTER[0]:
        return float(np.exp(_BEFORE[0] + (y - _AFTER[0]) / _POWER))
    return float(np.exp(np.interp(y, _AFTER, _BEFORE)))
