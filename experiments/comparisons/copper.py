"""Copper beside published losses, delays and roughness, and beside other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from channels import catalog, materials
from channels.causality import phase_residual
from channels.copper import Twinax
from channels.network import Chain, MultiPort, cascade
from dsp.units import GHz, db, m, mm, ns, ohm, um
from experiments.comparison import Comparison

SECTION = "Copper"
_LINE = catalog.StandardLine(
    length=12 * mm, impedance=78.2 * ohm, a1=1.734e-3 * ns**0.5 / mm, a2=1.455e-4 * ns / mm, tau=6.141e-3 * ns / mm
)
_ASTERA = "Astera Labs, The 1.2-Meter Challenge, 15 July 2026"
_DJ = catalog.HOSTS["HL"].reference


def _loss(parts: tuple[MultiPort, ...], f: float, z0: float) -> float:
    return float(-db(Chain(parts).s(np.array([f]), z0)[1, 0])[0])


def _cable(gauge: int, f: float) -> float:
    return float(Twinax(length=1.0, gauge=gauge).attenuation_db(np.array([f]))[0])


def _package_line(at: float) -> float:
    return float(abs(_LINE.s(np.array([at * GHz]), 100.0)[1, 0, 0]))


def _resistance(gauge: int) -> float:
    return Twinax(length=1.0, gauge=gauge).loop_resistance


def _skin_depth(at: float) -> float:
    return float(materials.skin_depth(np.array([at * GHz]))[0]) / um


def _whole(hosts: tuple[str, str], length: float) -> float:
    connector, cable = catalog.CONNECTORS["front panel"].value, replace(catalog.CABLES[26].value, length=length * m)
    tx, rx = (catalog.HOSTS[name].value for name in hosts)
    return _loss((*tx, connector, cable, connector.flipped, Chain(rx).flipped), 53.125 * GHz, 92.5)


def _debye(part: str) -> float:
    value = materials.wideband_debye(np.array([53.12 * GHz]), 3.3, 0.002, 10 * GHz)[0]
    return float(getattr(value, part))


def _causal() -> float:
    f = np.linspace(0, 100 * GHz, 10_001)
    return float(phase_residual(f, Twinax(length=1.0).s(f, 100.0)[1, 0]))


def _against_scikit_rf() -> float:
    """Largest difference of a cascade from scikit-rf's."""
    from channels.network import to_network

    f = np.linspace(1, 60, 60) * GHz
    parts = (catalog.PACKAGES["dj B2"].value.tx, catalog.BOARDS["ck"].value, Twinax(length=1.0))
    theirs = to_network(parts[0], f, 100.0) ** to_network(parts[1], f, 100.0) ** to_network(parts[2], f, 100.0)
    return float(np.max(np.abs(np.moveaxis(theirs.s, 0, -1) - cascade(parts, f, 100.0))))


def comparisons() -> Iterator[Comparison]:
    """All of them."""
    row = partial(Comparison, section=SECTION)
    for at, value in ((1.0, 0.970877), (26.56, 0.852923), (53.12, 0.773728)):
        yield row(
            what=f"12 mm package line of Annex 93A, size of S21 at {at:g} GHz", unit="", reference=value, allowed=1e-5,
            source="IEEE 802.3 (93A-9) to (93A-14) by an independent program",
            ours=partial(_package_line, at),
            test="test_channels_copper::test_standard_line_check_values",
        )  # fmt: skip
    for host, low, high in (("HL", 1.65, 3.26), ("HN", 4.90, 8.32), ("HH", 7.83, 13.15)):
        for at, value in ((26.56, low), (53.1, high)):
            yield row(
                what=f"host {host}, die to connector, loss at {at:g} GHz", unit="dB", reference=value, allowed=0.0051, source=_DJ,
                ours=partial(_loss, catalog.HOSTS[host].value, at * GHz, 92.5), test="test_channels_catalog::test_host_losses",
            )  # fmt: skip
    for gauge, value in ((26, 7.14), (30, 10.23)):
        yield row(
            what=f"twinax {gauge} AWG, loss at 53 GHz (the cable law was fitted to these two)", unit="dB/m", reference=value,
            allowed=0.03 * value, source=_ASTERA, ours=partial(_cable, gauge, 53 * GHz),
            test="test_channels_copper::test_twinax_published_anchors",
        )  # fmt: skip
    yield row(
        what="twinax 26 AWG, loss at 110 GHz (a prediction of the fit)", unit="dB/m", reference=(10.5, 12.5), allowed=0.0,
        source="about 12 dB/m on a chart of the ECOC 2026 workshop", ours=partial(_cable, 26, 110 * GHz),
        test="test_channels_copper::test_twinax_published_anchors",
    )  # fmt: skip
    yield row(
        what="twinax, delay", unit="ns/m", reference=(4.2, 4.5), allowed=0.0, source="data sheets of foam cables",
        ours=lambda: float(Twinax(length=1.0).phase_delay(np.array([26.56 * GHz]))[0]) / ns,
        test="test_channels_copper::test_twinax_delay",
    )  # fmt: skip
    for gauge, value in ((26, 0.267), (30, 0.674)):
        yield row(
            what=f"twinax {gauge} AWG, DC resistance of the loop", unit="ohm/m", reference=value, allowed=0.01 * value,
            source="wire tables (ASTM B258) and the resistivity of copper",
            ours=partial(_resistance, gauge),
            test="test_channels_copper::test_twinax_loss_and_resistance",
        )  # fmt: skip
    for hosts, length, value in ((("HN", "HH"), 1.0, 32.8), (("HN", "HH"), 2.0, 39.9), (("HL", "HL"), 1.0, 17.6)):
        yield row(
            what=f"whole 200G channel, {'-'.join(hosts)} hosts, {length:g} m of 26 AWG, loss at 53.125 GHz", unit="dB",
            reference=value, allowed=0.35, source="an independent program with its own twinax and connectors",
            ours=partial(_whole, hosts, length), test="test_channels_catalog::test_whole_200g_channel",
        )  # fmt: skip
    for at, value in ((26.56, 0.405), (53.125, 0.286)):
        yield row(
            what=f"skin depth of copper at {at:g} GHz", unit="um", reference=value, allowed=6e-4, source="textbooks",
            ours=partial(_skin_depth, at),
            test="test_channels_materials::test_skin_depth_of_copper",
        )  # fmt: skip
    for part, value in (("real", 3.29297), ("imag", -0.00654)):
        yield row(
            what=f"wideband Debye permittivity 3.3 of tan d 0.002 at 53.12 GHz, {part} part", unit="", reference=value,
            allowed=6e-6, source="scikit-rf, djordjevicsvensson", ours=partial(_debye, part),
            test="test_channels_materials::test_wideband_debye_anchors",
        )  # fmt: skip
    yield row(
        what="phase of 1 m of twinax beside what its loss demands (Kramers-Kronig), largest residual", unit="rad",
        reference=0.0, allowed=1e-3, source="causality itself", ours=_causal,
        test="test_channels_causality::test_every_copper_model_is_causal",
    )  # fmt: skip
    yield row(
        what="package, board and cable in cascade, largest difference of any S-parameter", unit="", reference=0.0,
        allowed=1e-12, source="scikit-rf", ours=_against_scikit_rf, test="test_channels_network::test_cascade_equals_scikit_rf",
    )  # fmt: skip
