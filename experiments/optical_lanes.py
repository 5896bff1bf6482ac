"""The optical lanes that the studies compare: one set of parts scaled with the symbol rate, each number an estimate of its class."""

from __future__ import annotations

from dataclasses import dataclass

from channels.fiber import OM4, MultimodeFiber, SingleModeFiber
from channels.host import HostLoss
from channels.imdd import ImddChannel, Predistortion
from channels.lasers import Laser
from channels.modulators import Mzm
from channels.optical_path import Photodiode
from channels.stages import Amplifier
from channels.vcsel import Vcsel
from dsp import check
from dsp.units import GBd, GHz, from_dbm, mA, nm
from serdes.link import Transmitter
from serdes.modules import Lane

SYMBOL_RATES = {"56G": 26.5625 * GBd, "112G": 53.125 * GBd, "224G": 106.25 * GBd}
DRIVER_BANDWIDTH, RECEIVER_BANDWIDTH = 0.55, 0.6
"""3 dB points over the symbol rate: 58 and 64 GHz at 106.25 GBd, the class of today's parts."""
AVERAGE_DBM = 2.0
EXTINCTION_DB = 5.0
MULTIMODE_EXTINCTION_DB = 3.0
"""SR4 asks for 2.5; at 3.5 a VCSEL of 30 GHz exceeds its largest TDECQ."""
RIN_DB = -145.0
CONNECTORS_DB = 2.75
"""Connectors of a 500 m link (TIA Fiber Optics Tech Consortium)."""
MULTIMODE_CONNECTORS_DB = 1.5
"""What the 1.8 to 1.9 dB of SR4 leave beside 100 m of fibre."""
NOISE = 3.24e-22
"""18 pA/rtHz squared [A^2/Hz]."""


def laser_of(average_dbm: float, wavelength: float, rin_db: float | None = RIN_DB) -> Laser:
    """The laser in front of a modulator that passes half of its power, ``average_dbm`` on average."""
    return Laser(power=2 * float(from_dbm(average_dbm)), wavelength=wavelength, rin_db=rin_db)


def single_mode(
    symbol_rate: float, laser: Laser, fiber: SingleModeFiber | None, loss_db: float, bandwidth: float = 1.0
) -> ImddChannel:
    """Mach-Zehnder modulator to receiver for inputs of 1 V peak; ``bandwidth`` over that of today's parts."""
    return ImddChannel(
        source=Mzm(laser=laser),
        driver=Amplifier(bandwidth=bandwidth * DRIVER_BANDWIDTH * symbol_rate),
        predistortion=Predistortion(full_scale=1.0, extinction_db=EXTINCTION_DB),
        fiber=fiber,
        loss_db=loss_db,
        photodiode=Photodiode(),
        tia=_tia(symbol_rate, bandwidth),
    )


def _tia(symbol_rate: float, bandwidth: float) -> Amplifier:
    passed = bandwidth * RECEIVER_BANDWIDTH * symbol_rate
    return Amplifier(gain=1e3, bandwidth=passed, shape="butterworth4", noise_density=NOISE)


@dataclass(frozen=True, kw_only=True)
class OpticalLane:
    """A lane rate with the bandwidth of its optics, over the symbol rate, and its wavelength [m]; ``inner``: as in `Lane`."""

    rate: str
    wavelength: float = 1310 * nm
    bandwidth: float = 1.0
    inner: bool = False

    def __post_init__(self) -> None:
        check.one_of(self, "rate", self.rate, SYMBOL_RATES)
        check.between(self, "wavelength", self.wavelength, 840 * nm, 1675 * nm, "m")
        check.between(self, "bandwidth", self.bandwidth, 0.2, 5)
        check.instance(self, "inner", self.inner, bool)

    @property
    def symbol_rate(self) -> float:
        """Symbols per second [Bd]."""
        return SYMBOL_RATES[self.rate]

    def lane(self) -> Lane:
        """The electronics: hosts that send 0.4 V peak with 5 taps."""
        tx = Transmitter(amplitude=0.4)
        return Lane(symbol_rate=self.symbol_rate, host_tx=tx, inner=self.inner)

    def host(self, loss_db: float) -> HostLoss:
        """One side's electrical way, ``loss_db`` at Nyquist."""
        return HostLoss(loss_db=loss_db, frequency=self.symbol_rate / 2)

    def optics(self, length: float, connectors_db: float = CONNECTORS_DB, rin_db: float | None = RIN_DB) -> ImddChannel:
        """Mach-Zehnder modulator, single-mode fibre of ``length`` [m]; worst zero-dispersion wavelength for this one."""
        zero = 1324 * nm if self.wavelength < 1312 * nm else 1300 * nm
        fiber = SingleModeFiber(length=length, zero_dispersion=zero) if length else None
        laser = laser_of(AVERAGE_DBM, self.wavelength, rin_db)
        return single_mode(self.symbol_rate, laser, fiber, connectors_db, self.bandwidth)

    def multimode(self, length: float, modal_bandwidth: float = OM4) -> ImddChannel:
        """A VCSEL of 30 GHz and multimode fibre of ``length`` [m] and ``modal_bandwidth`` [Hz m].

        3.5 dBm into the fibre, 0.4 nm rms, partition k 0.1; at the 0.6 nm that the standard allows and k = 0.3 mode partition
        noise alone would end it.
        """
        width = {"spectral_width": 0.4 * nm, "partition": 0.1, "partition_rate": self.symbol_rate}
        return ImddChannel(
            source=Vcsel(bias=9 * mA, coupling=0.22),
            driver=Amplifier(bandwidth=40 * GHz),
            predistortion=Predistortion(full_scale=1.0, extinction_db=MULTIMODE_EXTINCTION_DB),
            fiber=MultimodeFiber(length=length, modal_bandwidth=modal_bandwidth, **width),
            loss_db=MULTIMODE_CONNECTORS_DB,
            photodiode=Photodiode(responsivity=0.5),
            tia=_tia(self.symbol_rate, self.bandwidth),
        )
