"""Forward error correction in closed form: pre-FEC bit error ratio to post-FEC failure for independent errors.

The codes themselves are in `dsp.reed_solomon` and `dsp.hamming`, errors in bursts in `dsp.bursts`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsp import check


@dataclass(frozen=True, kw_only=True)
class Fec:
    """Reed-Solomon code of ``n`` symbols of ``symbol_bits`` bits, ``k`` of them data, that corrects ``t`` wrong symbols.

    A decoder of bounded distance: more than ``t`` wrong symbols are a failure, and the word is left as it is. The rare word
    that it turns into another valid one (less than 1/t! of the failures) counts as a failure, too.
    """

    n: int
    k: int
    symbol_bits: int
    t: int

    def __post_init__(self) -> None:
        check.count(self, "symbol_bits", self.symbol_bits, 2, 32)
        check.count(self, "n", self.n, 2, 2**self.symbol_bits - 1)
        check.count(self, "k", self.k, 1, self.n - 1)
        check.count(self, "t", self.t, 0, (self.n - self.k) // 2)

    @property
    def rate(self) -> float:
        """Data symbols over all symbols, k / n."""
        return self.k / self.n

    def symbol_error_probability(self, pre_fec_ber: np.ndarray | float) -> np.ndarray:
        """Probability that a code symbol is wrong, 1 - (1 - ber)^symbol_bits, for independent bit errors."""
        ber = np.asarray(pre_fec_ber, float)
        if np.any(~((ber >= 0) & (ber <= 1))):
            raise check.fail(self, "pre_fec_ber", "from 0 to 1", pre_fec_ber)
        with np.errstate(divide="ignore"):
            return -np.expm1(self.symbol_bits * np.log1p(-ber))

    def codeword_failure(self, pre_fec_ber: np.ndarray | float) -> np.ndarray:
        """Probability of more than ``t`` wrong symbols in a word: exact binomial tail, P(X > t) = I_p(t + 1, n - t).

        I is the regularised incomplete beta function (DLMF 8.17.5): full relative accuracy down to underflow.
        """
        from scipy.special import betainc

        return betainc(self.t + 1, self.n - self.t, self.symbol_error_probability(pre_fec_ber))

    def post_fec_symbol_error_ratio(self, pre_fec_ber: np.ndarray | float) -> np.ndarray:
        """Share of wrong code symbols after decoding, failed words left uncorrected.

        E[X; X > t] / n for X binomial (n, p) = p P(Y >= t) with Y binomial (n - 1, p).
        """
        from scipy.special import betainc

        p = self.symbol_error_probability(pre_fec_ber)
        return p * (betainc(self.t, self.n - self.t, p) if self.t > 0 else 1.0)

    def post_fec_ber(self, pre_fec_ber: np.ndarray | float) -> np.ndarray:
        """Share of wrong bits after decoding: a wrong symbol keeps its mean number of wrong bits, symbol_bits * ber / p."""
        ber = np.asarray(pre_fec_ber, float)
        p = self.symbol_error_probability(ber)
        share = np.divide(ber, p, out=np.full(p.shape, 1 / self.symbol_bits), where=p > 0)
        return self.post_fec_symbol_error_ratio(ber) * share

    def failure_bounds(self, errors: int, bits: int, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds of `codeword_failure` from ``errors`` counted among ``bits``: the failure at both Clopper-Pearson bounds.

        Failure rises with the bit error ratio, so the confidence carries over. Independent errors are assumed: errors in
        bursts are fewer than they look, and fail more words.
        """
        low, high = count_bounds(errors, bits, confidence)
        return float(self.codeword_failure(low)), float(self.codeword_failure(high))

    def threshold(self, codeword_failure: float) -> float:
        """The pre-FEC bit error ratio at which `codeword_failure` has the given value (0 to 1, both excluded)."""
        from scipy.optimize import brentq
        from scipy.special import betaincinv

        check.positive(self, "codeword_failure", codeword_failure)
        if codeword_failure >= 1:
            raise check.fail(self, "codeword_failure", "less than 1", codeword_failure)
        p = float(betaincinv(self.t + 1, self.n - self.t, codeword_failure))
        guess = np.log(-np.expm1(np.log1p(-p) / self.symbol_bits))

        def excess(log_ber: float) -> float:
            return float(np.log(self.codeword_failure(np.exp(log_ber)))) - float(np.log(codeword_failure))

        return float(np.exp(brentq(excess, guess - 0.1, min(guess + 0.1, -1e-12), xtol=1e-14)))


def count_bounds(errors: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided Clopper-Pearson bounds of a ratio from ``errors`` among ``trials`` (Biometrika 26, 1934)."""
    from scipy.special import betaincinv

    check.count("count_bounds", "trials", trials, 1)
    check.count("count_bounds", "errors", errors, 0, trials)
    check.between("count_bounds", "confidence", confidence, 0.5, 1 - 1e-12)
    tail = (1 - confidence) / 2
    low = float(betaincinv(errors, trials - errors + 1, tail)) if errors > 0 else 0.0
    high = float(betaincinv(errors + 1, trials - errors, 1 - tail)) if errors < trials else 1.0
    return low, high


def frame_loss_ratio(group_failure: float, group_data_bits: int, frame_octets: int = 64) -> float:
    """Ratio of lost Ethernet frames when a share ``group_failure`` of the groups of interleaved words has a failed word.

    A frame of F bits on the line (``frame_octets`` + 20 octets of preamble and gap, 257/256 for transcoding) lies in
    1 + F / group_data_bits groups on average and is lost with any of them, as interleaving spreads it over all their words:
    FLR = 1 - (1 - group_failure)^(1 + F / group_data_bits), groups taken as independent.
    """
    check.between("frame_loss_ratio", "group_failure", group_failure, 0, 1)
    check.count("frame_loss_ratio", "group_data_bits", group_data_bits, 1)
    check.count("frame_loss_ratio", "frame_octets", frame_octets, 64)
    if group_failure == 1:
        return 1.0
    touched = 1 + 8 * (frame_octets + 20) * 257 / 256 / group_data_bits
    return float(-np.expm1(touched * np.log1p(-group_failure)))


KP4 = Fec(n=544, k=514, symbol_bits=10, t=15)
KR4 = Fec(n=528, k=514, symbol_bits=10, t=7)
