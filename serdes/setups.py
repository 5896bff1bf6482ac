"""The links of the reach study by lane rate: standards' values from ``standards/reach.toml``, parts from the catalogue."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from channels.active import Redriver
from channels.catalog import ACTIVE_END, BOARDS, CABLES, CONNECTORS, HOSTS, PACKAGES
from channels.channel import Cascade
from channels.copper import Connector, CopperChannel
from channels.crosstalk import FarEndCrosstalk, NearEndCrosstalk
from channels.lines import Twinax
from channels.network import MultiPort
from dsp import check, fec
from dsp.constellation import named, pam
from dsp.units import GBd
from serdes import toml_text
from serdes.link import Aggressor, Link, Receiver, RetimedLink, Transmitter, suggestion
from serdes.reach import Target
from serdes.serialize import from_dict

_PACKAGE_AND_BOARD = {"25G": ("bj", "bj"), "50G": ("cd", "cd"), "100G": ("ck case 2", "ck")}
"""Package and board of the rates whose host has no class."""
HOST_CLASSES = tuple(HOSTS)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Everything about a lane rate but the cable and the hosts.

    ``payload`` [b/s] is what a lane carries for its client; ``accepted_reach`` [m] is (shortest, longest) of the standard's
    objective. ``shipped_reach`` and ``shipped_redriven``: (gauge, (shortest, longest)) of passive and linear active cables on
    the market, gauge None for any; ask `shipped`. ``shown_reach`` [m]: demonstrated between low-loss hosts, not shipped, or
    None. ``verified`` False: values recalled, not read.
    """

    name: str
    title: str
    source: str
    verified: bool
    symbol_rate: float
    payload: float
    error_ratio: float
    accepted_reach: tuple[float, float]
    shipped_reach: tuple[tuple[int | None, tuple[float, float]], ...]
    tx: Transmitter
    rx: Receiver
    far_end_amplitude: float
    near_end_amplitude: float
    far_end_loss_db: float
    near_end_loss_db: float
    redriver_gain_db: float
    redriver_peaking_db: float
    redriver_noise_density: float
    termination: float
    host: str
    fec: fec.Fec
    shipped_redriven: tuple[tuple[int | None, tuple[float, float]], ...] = ()
    shown_reach: float | None = None

    def shipped(self, gauge: int, redriven: bool = False) -> tuple[float, float] | None:
        """(shortest, longest) cable on the market [m], passive or with a linear redriver; None where no page names one."""
        known = dict(self.shipped_redriven if redriven else self.shipped_reach)
        return known.get(gauge, known.get(None))

    @property
    def has_host_classes(self) -> bool:
        """Whether the standard knows host classes (HL, HN, HH) for this rate."""
        return self.host in HOSTS

    def target(self, margin_db: float = 3.0) -> Target:
        """Detector error ratio of the standard, with margin."""
        return Target(error_ratio=self.error_ratio, margin_db=margin_db)

    def host_parts(self, host: str | None, end: str) -> tuple[MultiPort, ...]:
        """Die to connector, circuit first. ``host``: HL, HN or HH where the rate has classes, else None. ``end``: tx, rx."""
        if self.has_host_classes:
            name = host or self.host
            check.one_of(f"setup {self.name}", "host", name, HOST_CLASSES)
            return HOSTS[name].value
        if host is not None:
            raise check.fail(f"setup {self.name}", "host", "left out: this rate has no host classes", host)
        package, board = _PACKAGE_AND_BOARD[self.host]
        return (getattr(PACKAGES[package].value, end), BOARDS[board].value)

    def package(self, end: str) -> MultiPort:
        """Die and package alone, circuit side first, for a channel measured from ball to ball."""
        name = "dj B2" if self.has_host_classes else _PACKAGE_AND_BOARD[self.host][0]
        return getattr(PACKAGES[name].value, end)

    def link(
        self, length: float, gauge: int = 26, hosts: tuple[str, str] | None = None, crosstalk: bool = True,
        cable: MultiPort | None = None, extra: tuple[MultiPort, ...] = (),
    ) -> Link:  # fmt: skip
        """Host, connector, ``length`` [m] of twinax, connector, host. ``hosts``: classes of (transmitter, receiver).

        ``cable``, already of its length, replaces the catalogue's; ``extra`` parts lie between host and connector at both ends.
        One far-end and one near-end aggressor stand for the power sums.
        """
        near, far = self._hosts(hosts)
        connector = CONNECTORS["front panel"].value
        wire = cable or self._twinax(length, gauge)
        near, far = (*near, *extra), (*far, *extra)
        return self._between((*near, connector, wire), (*far, connector), crosstalk)

    def retimed(
        self, length: float, gauge: int = 26, hosts: tuple[str, str] | None = None, crosstalk: bool = True
    ) -> RetimedLink:
        """An active electrical cable: a retimer in each connector, so three links in series; `link` says the rest."""
        near, far = self._hosts(hosts)
        inside, connector = ACTIVE_END.value, CONNECTORS["front panel"].value
        wire = self._twinax(length, gauge)
        routes = (
            ((*near, connector), inside),  # host to retimer
            ((*inside, wire), inside),  # retimer to retimer
            (inside, (*far, connector)),  # retimer to host
        )
        return RetimedLink(segments=tuple(self._between(a, b, crosstalk) for a, b in routes), fec=self.fec)

    def redriven(self, length: float, gauge: int = 26, hosts: tuple[str, str] | None = None, crosstalk: bool = True) -> Link:
        """An active copper cable: a linear redriver in the connector at the receiver's end; `link` says the rest.

        Gain and peaking of the redriver are the set-up's, the same at every length. Near-end coupling in the cable's connector is
        from the host's own transmitter, whose signal has come through the host.
        """
        near, far = self._hosts(hosts)
        inside, connector = ACTIVE_END.value, CONNECTORS["front panel"].value
        wire = self._twinax(length, gauge)
        driver = Redriver(
            gain_db=self.redriver_gain_db, peaking_db=self.redriver_peaking_db, peak_frequency=self.symbol_rate / 2,
            bandwidth=self.symbol_rate, noise_density=self.redriver_noise_density,
        )  # fmt: skip
        before = self._between((*near, connector, wire), inside, crosstalk, beside=(*far, connector))
        after = self._between(inside, (*far, connector), crosstalk)
        aggressors = (
            tuple(replace(a, coupling=Cascade(parts=(a.coupling, driver, after.channel))) for a in before.aggressors)
            + after.aggressors[1:]
        )  # the near end of the host's own connector; its far end comes through the redriver already
        channel = Cascade(parts=(before.channel, driver, after.channel))
        return replace(before, channel=channel, aggressors=aggressors)

    def _twinax(self, length: float, gauge: int) -> Twinax:
        check.one_of(f"setup {self.name}", "gauge", gauge, tuple(CABLES))
        check.finite(f"setup {self.name}", "length", length, "m")
        return replace(CABLES[gauge].value, length=float(length))

    def _hosts(self, hosts: tuple[str, str] | None) -> tuple[tuple[MultiPort, ...], tuple[MultiPort, ...]]:
        if hosts is not None and (not isinstance(hosts, tuple) or len(hosts) != 2):
            raise check.fail(f"setup {self.name}", "hosts", "(class at the transmitter, class at the receiver) or None", hosts)
        return (
            self.host_parts(hosts[0] if hosts else None, "tx"),
            self.host_parts(hosts[1] if hosts else None, "rx"),
        )

    def _between(
        self, left: tuple[MultiPort, ...], right: tuple[MultiPort, ...], crosstalk: bool,
        beside: tuple[MultiPort, ...] | None = None,
    ) -> Link:  # fmt: skip
        """A link whose two ends are given circuit first and meet in the middle; ``beside`` as in `aggressors`."""
        parts = (*left, *(part.flipped for part in reversed(right)))
        through = CopperChannel(parts=parts, source_resistance=self.termination, load_resistance=self.termination)
        to_coupling = tuple(part for part in right if not isinstance(part, Connector))
        aggressors = self.aggressors(through, to_coupling, beside) if crosstalk else ()
        return Link(symbol_rate=self.symbol_rate, tx=self.tx, channel=through, rx=self.rx, aggressors=aggressors, fec=self.fec)

    def aggressors(
        self, through: CopperChannel, far: tuple[MultiPort, ...], beside: tuple[MultiPort, ...] | None = None
    ) -> tuple[Aggressor, ...]:
        """Far- and near-end estimates for a channel; ``far``: the receiver's end, circuit first, to the place of coupling.

        ``beside``: what lies between the near-end aggressor's transmitter and that place, by default the same as ``far``.
        """
        nyquist = self.symbol_rate / 2
        quiet = replace(self.tx, snr_db=None)
        return (
            Aggressor(
                tx=replace(quiet, amplitude=self.far_end_amplitude),
                coupling=FarEndCrosstalk(through=through, reference_frequency=nyquist, loss_db=self.far_end_loss_db),
            ),
            Aggressor(
                tx=replace(quiet, amplitude=self.near_end_amplitude),
                coupling=NearEndCrosstalk(
                    tx_side=far if beside is None else beside, rx_side=tuple(part.flipped for part in reversed(far)), reference_frequency=nyquist,
                    loss_db=self.near_end_loss_db, source_resistance=self.termination, load_resistance=self.termination,
                ),
            ),
        )  # fmt: skip

    def around(
        self, parts: MultiPort | tuple[MultiPort, ...], aggressors: tuple[Aggressor, ...] = (), packages: bool = True
    ) -> Link:
        """This rate's transmitter and receiver around other ``parts``, a measured channel for instance.

        ``packages``: put the standard's die and package at both ends, as for a channel measured from ball to ball.
        """
        parts = (parts,) if isinstance(parts, MultiPort) else parts
        if packages:
            parts = (self.package("tx"), *parts, self.package("rx").flipped)
        channel = CopperChannel(parts=parts, source_resistance=self.termination, load_resistance=self.termination)
        return Link(symbol_rate=self.symbol_rate, tx=self.tx, channel=channel, rx=self.rx, aggressors=aggressors, fec=self.fec)


def names() -> tuple[str, ...]:
    """Names of the lane rates, slowest first."""
    return tuple(name for name in toml_text.standard("reach") if name[0].isdigit())


@functools.cache
def setup(name: str) -> Setup:
    """The set-up called ``name``: 25G, 50G, 100G, 200G, or the other names in use: 28G, 56G, 112G, 224G.

    Raises ValueError with the valid names.

    >>> setup("112G").name, setup("112G").symbol_rate
    ('100G', 53125000000.0)
    """
    table = toml_text.standard("reach")
    aliases = {alias: key for key in names() for alias in (key, *table[key]["aliases"])}
    key = aliases.get(str(name).strip().upper())
    if key is None:
        rates = {f"{table[key]['symbol_rate'] / GBd:g}": key for key in names()}
        meant = rates.get(str(name).strip().upper().removesuffix("GBD").rstrip())
        hint = f"; was the symbol rate {name} GBd meant? That is {meant}" if meant else suggestion(str(name), list(aliases))
        raise ValueError(f"unknown rate {name!r}{hint}")
    row, receiver = dict(table[key]), table["receiver"]
    shape = named(row.pop("modulation"))
    mismatch = row.pop("level_mismatch")
    constellation = {"points": list(pam(shape.n, mismatch).points), "labels": list(shape.labels)}
    row.pop("aliases")
    return Setup(
        name=key,
        tx=from_dict({**row.pop("tx"), "constellation": constellation}, Transmitter, f"{key}.tx"),
        rx=from_dict({**receiver, **row.pop("rx")}, Receiver, f"{key}.rx"),
        fec={"KP4": fec.KP4, "KR4": fec.KR4}[row.pop("fec")],
        accepted_reach=tuple(row.pop("accepted_reach")),
        shipped_reach=_by_gauge(row.pop("shipped_reach")),
        shipped_redriven=_by_gauge(row.pop("shipped_redriven", {})),
        **row,
        **table["crosstalk"],
        **table["redriver"],
    )


def _by_gauge(table: Mapping[str, Sequence[float]]) -> tuple[tuple[int | None, tuple[float, float]], ...]:
    return tuple((None if gauge == "any" else int(gauge), (low, high)) for gauge, (low, high) in table.items())
