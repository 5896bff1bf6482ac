"""The baud-rate receiver: sampler, converter, equaliser, decisions and timing in one loop."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dsp.kernels.taps import confine
from dsp.kernels.waveforms import sample_at


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def receive(
    wave: np.ndarray,
    jitter: np.ndarray,
    pace: np.ndarray,
    noise: np.ndarray,
    known: np.ndarray,
    table: np.ndarray,
    tilt: np.ndarray,
    lanes: np.ndarray,
    nominal: np.ndarray,
    limits: np.ndarray,
    stages: np.ndarray,
    settings: np.ndarray,
    modes: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
    ffe: np.ndarray,
    dfe: np.ndarray,
    levels: np.ndarray,
    line: np.ndarray,
    between: np.ndarray,
    past: np.ndarray,
    late: np.ndarray,
    out_at: np.ndarray,
    out_beyond: np.ndarray,
    out_phase: np.ndarray,
    out_z: np.ndarray,
    out_index: np.ndarray,
) -> tuple[int, int]:
    """The receiver over ``wave`` in steps of ``modes[0]`` symbols, as far as the inputs reach. Returns samples and decisions.

    Constant: ``lanes`` (n_lanes, 3) gain, offset [V], skew [UI]; ``nominal`` levels; ``limits`` of the feedback taps, of the
    other feed-forward taps over the main one (1e300: none), and of their sum of magnitudes; ``stages`` (n, 5): decision count
    that ends the stage, rule (0 none, 1 LMS, 2 sign-LMS, 3 constant modulus), steps of feed-forward and feedback taps and of
    the levels. settings: samples per symbol, proportional and integral gain, the same while acquiring, error power above
    which it acquires, bias of the detector, converter step (0 for none) and full scale, modulus. modes: symbols per update, pre-cursors, further latency, detector (0 none, 1 Mueller-Muller, 2 Gardner, 3
    bang-bang), whether there are jitter [UI], pace [UI beyond 1 to the next instant], noise [V] (with detectors 2 and 3 two
    values a symbol, the first half a symbol earlier); whether positions are wanted; samples needed beyond the first instant of
    an update. Changed in place, the state: counts (position in ``wave``, samples taken, pointer into late, stage, 1 once taps
    ran away), values (fraction of the position, integrator, phase, phase per symbol now, mean error power, 1 while
    acquiring), taps, levels, ``line`` (last
    samples), ``between`` (those half way before them), ``past`` (last decided levels), all oldest first, ``late`` (timing
    errors). ``known``: true indices of the next decisions, 255 where there is none. Out: by sample position and phase [UI], by
    decision the equalised sample and the index.
    """
    samples_per_symbol, steady_p, steady_i, acquire_p, acquire_i, most_error, bias, step, full_scale, modulus = settings
    span, n_pre, latency, detector, jittered, paced, noisy, traced, need = modes
    i, taken, r, stage, lost = counts
    fraction, drift, phase, rate, power, acquiring = values
    n_ffe, n_dfe, n_line, n_past, n_levels, n_lanes = ffe.size, dfe.size, line.size, past.size, levels.size, lanes.shape[0]
    top = 0.0 if step == 0.0 else math.floor(2 * full_scale / step + 0.5)
    draws = 2 if detector >= 2 else 1
    n_whole = int(samples_per_symbol) if samples_per_symbol == math.floor(samples_per_symbol) else 0
    packed = np.empty(span, np.int64)
    half = 0.5 * samples_per_symbol
    fine = 0.0 if step == 0.0 else 1.0 / step
    room = max(span, 256)
    xs = np.empty(n_line + room)
    middles = np.empty(n_line + room)
    z = np.empty(span)
    decided = np.empty(n_past + room)
    h = n_line
    g = n_past
    truth = np.empty(span)
    miss = np.empty(span)
    thresholds = np.empty(n_levels - 1)
    rev = ffe[::-1].copy()  # oldest sample first, as the line has them: what short updates work with
    xs[:n_line] = line
    middles[:n_line] = between
    decided[:n_past] = past
    for t in range(n_levels - 1):
        thresholds[t] = 0.5 * (levels[t] + levels[t + 1])
    plain = n_lanes == 1 and lanes[0, 0] == 1.0 and lanes[0, 1] == 0.0 and lanes[0, 2] == 0.0
    n_samples = 0
    n_decided = 0
    while (
        n_samples + span <= out_phase.size
        and i + need < wave.size
        and (jittered == 0 or n_samples + span <= jitter.size)
        and (paced == 0 or n_samples + span <= pace.size)
        and (noisy == 0 or (n_samples + span) * draws <= noise.size)
    ):
        # sample; where the instants are evenly spaced, with taps that change evenly from the first to the last
        travel = span * samples_per_symbol * rate
        even = span >= 8 and jittered == 0 and paced == 0 and plain and detector < 2 and n_whole > 0
        if even and fraction + travel >= 0.0 and fraction + travel < 1.0:
            u = fraction * tilt.shape[0]
            row = min(int(u), tilt.shape[0] - 1)
            w = (fraction + travel) * tilt.shape[0]
            last = min(int(w), tilt.shape[0] - 1)
            for t in range(8):
                c0 = table[row, t] + (u - row) * tilt[row, t]
                c1 = table[last, t] + (w - last) * tilt[last, t]
                d = (c1 - c0) / span
                from_t = wave[i - 3 + t : i - 3 + t + n_whole * span]
                if t == 0:
                    xs[h : h + span] = 0.0
                fill = xs[h : h + span]
                if n_whole == 2:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[2 * k]
                elif n_whole == 4:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[4 * k]
                else:
                    for k in range(span):
                        fill[k] += (c0 + k * d) * from_t[n_whole * k]
            for k in range(span):
                out_phase[n_samples + k] = phase + k * rate
            if traced:
                for k in range(span):
                    out_at[n_samples + k] = i + n_whole * k
                    out_beyond[n_samples + k] = fraction + samples_per_symbol * rate * k
            phase += span * rate
            fraction += travel
            i += n_whole * span
        else:
            for k in range(span):
                moved = 0.0 if jittered == 0 else jitter[n_samples + k]
                if not plain:
                    moved += lanes[(taken + k) % n_lanes, 2]
                beyond = fraction + samples_per_symbol * min(max(moved, -1.0), 1.0)
                xs[h + k] = sample_at(wave, i, beyond, table, tilt)
                if detector >= 2:
                    middles[h + k] = sample_at(wave, i, beyond - half, table, tilt)
                out_phase[n_samples + k] = phase
                if traced:
                    out_at[n_samples + k] = i
                    out_beyond[n_samples + k] = beyond
                ahead = rate
                if paced:
                    ahead += pace[n_samples + k]
                fraction += samples_per_symbol * (1.0 + ahead)
                whole = math.floor(fraction)
                fraction -= whole
                i += int(whole)
                phase += ahead
        if noisy:
            if draws == 1:
                for k in range(span):
                    xs[h + k] += noise[n_samples + k]
            else:
                for k in range(span):
                    middles[h + k] += noise[2 * (n_samples + k)]
                    xs[h + k] += noise[2 * (n_samples + k) + 1]
        if not plain:
            for k in range(span):
                lane = (taken + k) % n_lanes
                xs[h + k] = xs[h + k] * lanes[lane, 0] + lanes[lane, 1]
        if step != 0.0:
            for k in range(span):
                code = min(max(np.rint((xs[h + k] + full_scale) * fine), 0.0), top)
                xs[h + k] = code * step - full_scale
        # equalise: z[k] = sum_t ffe[t] x[k - t]
        if span < 8:
            for k in range(span):
                total = 0.0
                window = xs[h + k - n_ffe + 1 : h + k + 1]
                for t in range(n_ffe):
                    total += rev[t] * window[t]
                z[k] = total
        else:
            z[:] = 0.0
            for t in range(n_ffe):
                tap = ffe[t]
                window = xs[h - t : h - t + span]
                for k in range(span):
                    z[k] += tap * window[k]
        # decide, the newest decision apart: its store is still under way when it is wanted
        begin = min(max(n_pre - taken, 0), span)
        newest = decided[g - 1]
        first_tap = dfe[0] if n_dfe > 0 else 0.0
        if span >= 8 and n_dfe == 1 and n_levels == 4 and n_decided >= known.size:
            # all four histories at once, then a chain of shifts: three whole-number operations a symbol
            t0, t1, t2 = thresholds[0], thresholds[1], thresholds[2]
            s0, s1, s2, s3 = first_tap * nominal[0], first_tap * nominal[1], first_tap * nominal[2], first_tap * nominal[3]
            for k in range(begin, span):
                v0, v1, v2, v3 = z[k] - s0, z[k] - s1, z[k] - s2, z[k] - s3
                packed[k] = (
                    np.int64(v0 > t0)
                    + np.int64(v0 > t1)
                    + np.int64(v0 > t2)
                    + ((np.int64(v1 > t0) + np.int64(v1 > t1) + np.int64(v1 > t2)) << 2)
                    + ((np.int64(v2 > t0) + np.int64(v2 > t1) + np.int64(v2 > t2)) << 4)
                    + ((np.int64(v3 > t0) + np.int64(v3 > t1) + np.int64(v3 > t2)) << 6)
                )
            before = np.int64(0)
            for t in range(n_levels):
                if nominal[t] == newest:
                    before = np.int64(t)
            if newest != nominal[before] and begin < span:  # before the first decision there is no level
                v = z[begin] - first_tap * newest
                before = np.int64(v > t0) + np.int64(v > t1) + np.int64(v > t2)
                packed[begin] = before * 85
            for k in range(begin, span):
                before = (packed[k] >> (2 * before)) & 3
                packed[k] = before
            for k in range(begin, span):
                decided[g + k - begin] = nominal[packed[k]]
                truth[k] = levels[packed[k]]
                out_index[n_decided + k - begin] = packed[k]
            for k in range(begin, span):
                z[k] -= first_tap * decided[g + k - begin - 1]
                out_z[n_decided + k - begin] = z[k]
            n_decided += span - begin
        else:
            for k in range(begin, span):
                base = z[k]
                for t in range(1, n_dfe):
                    base -= dfe[t] * decided[g + k - begin - 1 - t]
                v = base - first_tap * newest
                index = 0
                for t in range(n_levels - 1):
                    index += v > thresholds[t]
                z[k] = v
                out_z[n_decided] = v
                out_index[n_decided] = index
                if n_decided < known.size and known[n_decided] != 255:
                    index = known[n_decided]
                newest = nominal[index]
                truth[k] = levels[index]
                decided[g + k - begin] = newest
                n_decided += 1
        n_new = span - begin
        # track: the detector on unequalised samples
        if detector != 0:
            total = 0.0
            for k in range(begin, span):
                if detector == 1:
                    q = h + k - n_pre
                    p = g + k - begin
                    error = xs[q] * decided[p - 1] - xs[q - 1] * decided[p]
                elif detector == 2:
                    error = middles[h + k] * (xs[h + k - 1] - xs[h + k])
                else:
                    p = g + k - begin
                    error = 0.0
                    if decided[p] == -decided[p - 1] and decided[p] != 0.0:
                        error = 1.0 if (middles[h + k - n_pre] > 0.0) == (decided[p] < 0.0) else -1.0
                error -= bias
                if latency > 0:
                    r = r - 1 if r > 0 else latency - 1
                    fresh = error
                    error = late[r]
                    late[r] = fresh
                total += error
            if most_error < 1e300:
                square = 0.0
                for k in range(begin, span):
                    square += (truth[k] - z[k]) * (truth[k] - z[k])
                # quick to see that lock is lost, slow to believe that it is back: the phase may only be passing
                power += (square - n_new * power) / (4096.0 if acquiring == 1.0 else 1024.0)
                if acquiring == 0.0 and power > most_error:
                    acquiring = 1.0
                    power = 4 * most_error
                elif power < 0.75 * most_error:
                    acquiring = 0.0
            proportional = steady_p if acquiring == 0.0 else acquire_p
            integral = steady_i if acquiring == 0.0 else acquire_i
            drift = min(max(drift + integral * total, -0.01), 0.01)
            rate = min(max(proportional * total / span + drift, -0.5 / span), 0.5 / span)
        # adapt
        rule = int(stages[stage, 1])
        if rule != 0 and lost == 0 and n_new > 0:
            mu_ffe, mu_dfe, mu_levels = stages[stage, 2], stages[stage, 3], stages[stage, 4]
            for k in range(begin):
                miss[k] = 0.0
            for k in range(begin, span):
                if rule == 3:
                    miss[k] = z[k] * (modulus - z[k] * z[k])
                else:
                    miss[k] = truth[k] - z[k]
            if mu_levels != 0.0:
                for k in range(begin, span):
                    for t in range(n_levels):
                        if truth[k] == levels[t]:
                            levels[t] -= mu_levels * miss[k]
                for t in range(n_levels - 1):
                    thresholds[t] = 0.5 * (levels[t] + levels[t + 1])
            if rule == 2:
                for k in range(begin, span):
                    miss[k] = 1.0 if miss[k] > 0 else -1.0
            if span < 8:
                for k in range(begin, span):
                    move = mu_ffe * miss[k]
                    window = xs[h + k - n_ffe + 1 : h + k + 1]
                    for t in range(n_ffe):
                        rev[t] += move * window[t]
                size = confine(rev, n_ffe - 1 - n_pre, limits[2])
            else:
                for t in range(n_ffe):
                    window = xs[h - t : h - t + span]
                    slope = 0.0
                    for k in range(span):
                        slope += miss[k] * window[k]
                    ffe[t] += mu_ffe * slope
                size = confine(ffe, n_pre, limits[2])
            if mu_dfe != 0.0:
                for t in range(n_dfe):
                    slope = 0.0
                    for k in range(begin, span):
                        slope += miss[k] * decided[g + k - begin - 1 - t]
                    dfe[t] = min(max(dfe[t] - mu_dfe * slope, limits[0]), limits[1])
            if size > limits[3]:
                lost = 1
        # move on
        h += span
        g += n_new
        if h + span > xs.size:
            for t in range(n_line):
                xs[t] = xs[h - n_line + t]
                middles[t] = middles[h - n_line + t]
            h = n_line
        if g + span > decided.size:
            for t in range(n_past):
                decided[t] = decided[g - n_past + t]
            g = n_past
        n_samples += span
        taken += span
        while stage < stages.shape[0] - 1 and taken - n_pre >= stages[stage, 0]:
            stage += 1
    if span < 8:
        ffe[:] = rev[::-1]
    line[:] = xs[h - n_line : h]
    between[:] = middles[h - n_line : h]
    past[:] = decided[g - n_past : g]
    counts[0], counts[1], counts[2], counts[3], counts[4] = i, taken, r, stage, lost
    values[0], values[1], values[2], values[3], values[4], values[5] = fraction, drift, phase, rate, power, acquiring
    return n_samples, n_decided
