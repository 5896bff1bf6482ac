"""Channels and links simple enough to know the answer, for the tests."""

from dataclasses import dataclass

import numpy as np

from channels.channel import LinearChannel
from dsp.constellation import pam
from dsp.equalizer import FixedTaps
from serdes.link import Link, Receiver, Transmitter

RATE = 50e9


@dataclass(frozen=True, kw_only=True)
class Flat(LinearChannel):
    """The same gain at every frequency, and a delay [s]; ``density`` of its own noise [V^2/Hz]."""

    gain: float = 1.0
    delay: float = 0.0
    density: float = 0.0

    def transfer(self, f):
        return self.gain * np.exp(-2j * np.pi * f * self.delay)

    def noise_psd(self, f, drive=None):
        return np.full(np.shape(f), self.density)


@dataclass(frozen=True, kw_only=True)
class Nyquist(LinearChannel):
    """Makes of a rectangular symbol a raised-cosine pulse: 1 at its centre, 0 at every other symbol. Roll-off one half.

    ``root``: the square root of that spectrum, whose folded power is flat. ``echo``: a second pulse one symbol later.
    """

    gain: float = 1.0
    delay: float = 7.5 / RATE
    root: bool = False
    echo: float = 0.0
    density: float = 0.0

    def transfer(self, f):
        x = np.abs(np.asarray(f, float)) / RATE
        cosine = np.where(x <= 0.25, 1.0, np.where(x >= 0.75, 0.0, 0.5 + 0.5 * np.cos(2 * np.pi * (x - 0.25))))
        shape = np.sqrt(cosine) if self.root else cosine
        held = np.where(x < 0.75, np.sinc(x), 1.0)
        echo = 1 + self.echo * np.exp(-2j * np.pi * np.asarray(f) / RATE)
        return self.gain * shape / held * echo * np.exp(-2j * np.pi * np.asarray(f) * self.delay)

    def noise_psd(self, f, drive=None):
        return np.full(np.shape(f), self.density)


def simple_link(channel=None, *, levels=4, amplitude=0.4, rate=RATE, tx=None, aggressors=(), fec=None, **rx):
    """A link without impairments but those given: ``tx`` and the rest are fields of transmitter and receiver."""
    return Link(
        symbol_rate=rate,
        tx=Transmitter(**{"amplitude": amplitude, "constellation": pam(levels), **(tx or {})}),
        channel=channel or Nyquist(),
        rx=Receiver(**{"equalizer": FixedTaps(), **rx}),
        aggressors=aggressors,
        fec=fec,
    )


def density_for(snr_db, link, bandwidth=2 * RATE):
    """White receiver noise [V^2/Hz] over ``bandwidth`` that gives a unit main cursor times the amplitude an SNR [dB]."""
    variance = link.tx.constellation.mean_square * link.tx.amplitude**2 / 10 ** (snr_db / 10)
    return variance / bandwidth
