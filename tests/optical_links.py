"""Optical links that several test modules use, with the parameters of the published reference tables."""

from dataclasses import replace

import numpy as np

from channels.fiber import SingleModeFiber
from channels.imdd import ImddChannel, Predistortion
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.optical_path import Photodiode
from channels.stages import Amplifier
from dsp.equalizer import FixedTaps, Mmse
from dsp.units import GHz, dbm, km, nm, ps
from serdes.link import Link, Receiver, Transmitter

SLICER = FixedTaps()
FIVE = Mmse(n_taps=5, n_precursors=2, n_feedback=0)
LONG = Mmse(n_taps=21, n_precursors=5, n_feedback=0)
DECIDED = Mmse(n_taps=21, n_precursors=8, n_feedback=1, feedback_limits=(-1.0, 1.0))


def at_oma(channel: ImddChannel, drive: float, oma_dbm: float) -> ImddChannel:
    """The channel attenuated to an outer amplitude at the photodiode."""
    low, high = channel.received_power(np.array([-drive, drive]))
    return replace(channel, loss_db=float(dbm(high - low) - oma_dbm))


def lane(rate=106.25, tx=55.0, rx=60.0, equalizer=LONG, oma_dbm=-8.0, source=None, fiber=None) -> Link:
    """Thermal noise only, 18 pA/rtHz, 0.8 A/W, levels pre-distorted to an extinction of 5 dB; rate in GBd, bandwidths in GHz."""
    channel = ImddChannel(
        source=source or Mzm(laser=Laser(power=1e-3), extinction_db=100.0),
        driver=Amplifier(bandwidth=tx * GHz),
        predistortion=Predistortion(full_scale=1.0, extinction_db=5.0),
        fiber=fiber,
        photodiode=Photodiode(shot=False),
        tia=Amplifier(gain=1e3, bandwidth=rx * GHz, shape="butterworth4", noise_density=3.24e-22),
    )
    return Link(
        symbol_rate=rate * 1e9,
        tx=Transmitter(amplitude=1.0),
        channel=at_oma(channel, 1.0, oma_dbm),
        rx=Receiver(equalizer=equalizer),
    )


def loud(rin_db=-140.0, length=0.8, oma_dbm=-6.2, drive=0.5, chirp=0.0, power=2e-3) -> Link:
    """Driver and modulator in compression, dispersion at 1550 nm, shot and intensity noise; length in km."""
    channel = ImddChannel(
        source=Mzm(laser=Laser(power=power, wavelength=1550 * nm, rin_db=rin_db), v_pi=2.0, chirp_parameter=chirp),
        driver=Amplifier(bandwidth=60 * GHz, saturation=1.2),
        fiber=SingleModeFiber(length=length * km, dispersion=17 * ps / nm / km, loss_db_per_km=0.0),
        tia=Amplifier(gain=1e3, bandwidth=60 * GHz, shape="butterworth4", noise_density=3.24e-22),
    )
    equalizer = Mmse(n_taps=21, n_precursors=8, n_feedback=0)
    return Link(
        symbol_rate=106.25e9, tx=Transmitter(amplitude=drive), channel=at_oma(channel, drive, oma_dbm),
        rx=Receiver(equalizer=equalizer),
    )  # fmt: skip


def bench(baud: float, power_dbm: float, fiber=None, wavelength=1310 * nm) -> Link:
    """OptiCommPy's example: +-V_pi/4 on the modulator, 50 ohm thermal and shot noise, Gaussian filter of 0.7 times the symbol rate."""
    channel = ImddChannel(
        source=Mzm(laser=Laser(power=2e-3 * 10 ** (power_dbm / 10), wavelength=wavelength), extinction_db=100.0),
        driver=Amplifier(),
        fiber=fiber,
        photodiode=Photodiode(dark_current=0.0),
        tia=Amplifier(gain=1e3, bandwidth=0.7 * baud, shape="gaussian", noise_density=18.15e-12**2),
    )
    return Link(symbol_rate=baud, tx=Transmitter(amplitude=0.5), channel=channel, rx=Receiver(equalizer=LONG))
