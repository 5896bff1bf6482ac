"""Interposer wires: the published eyes and energies, coupling between neighbours, and every field against a wrong value."""

from dataclasses import replace

import numpy as np
import pytest

from channels.causality import energy_before_zero, passivity, reciprocity
from channels.crosstalk import crosstalk_ratio_db
from channels.interposer import InterposerChannel, InterposerWires, pulse, worst_eye
from channels.pair import coupled_line_s
from dsp.units import GBd, Gbps, GHz, fF, mm, pJ, um

F = np.concatenate([[0.0], np.geomspace(1e4, 200 * GHz, 200)])
RATES = np.array([6.4, 8, 9.2, 10, 12.8, 16]) * Gbps
WIRE = InterposerWires(length=3 * mm, width=2 * um, thickness=1 * um)
BUS = replace(WIRE, n_wires=5, coupling=0.2)
CHANNEL = InterposerChannel(wires=WIRE)
MIDDLE = InterposerChannel(wires=BUS, driven=2, observed=2)


@pytest.mark.parametrize(
    ("width", "thickness", "length", "eyes"),
    [
        (2, 2, 3, (0.94, 0.87, 0.82, 0.81, 0.82, 0.76)),
        (2, 2, 6, (0.79, 0.74, 0.67, 0.63, 0.53, 0.44)),
        (2, 1, 3, (0.89, 0.81, 0.75, 0.72, 0.65, 0.55)),
        (2, 1, 6, (0.59, 0.48, 0.40, 0.35, 0.22, 0.12)),
        (1, 1, 3, (0.77, 0.66, 0.58, 0.53, 0.39, 0.26)),
        (1, 1, 6, (0.26, 0.12, 0.03, None, None, None)),
    ],
)
def test_worst_eye_of_the_table(width, thickness, length, eyes):
    """Edges of a quarter unit interval, 40 ohm, 0.25 and 0.30 pF, no termination, best instant; None is closed."""
    wires = InterposerWires(length=length * mm, width=width * um, thickness=thickness * um)
    found = [worst_eye(InterposerChannel(wires=wires), rate) for rate in RATES]
    for value, printed in zip(found, eyes, strict=True):
        if printed is None:
            assert value <= 0
        else:
            assert value == pytest.approx(printed, abs=0.006)


def test_worst_eye_is_the_peak_distortion_of_the_pulse():
    response = pulse(CHANNEL, 9.2 * GBd)
    heights = [response.peak_distortion(i, 2) / 2 for i in range(response.peak - 31, response.peak + 32)]
    assert worst_eye(CHANNEL, 9.2 * GBd) == pytest.approx(max(heights), abs=1e-12)
    assert np.sum(response.samples) / 32 == pytest.approx(1, abs=1e-9)
    assert response.tail < 1e-3


@pytest.mark.parametrize(("swing", "short", "long"), [(0.4, 0.05, 0.075), (0.75, 0.17, 0.26), (1.1, 0.37, 0.57)])
def test_energy_of_the_table(swing, short, long):
    for length, printed in ((3, short), (6, long)):
        channel = InterposerChannel(wires=replace(WIRE, length=length * mm))
        assert channel.energy_per_bit(swing) / pJ == pytest.approx(printed, abs=0.005)
    assert CHANNEL.energy_per_bit(swing, activity=0.0) == 0


@pytest.mark.parametrize("change", [{"swing": 0.0}, {"swing": 0.4, "activity": 2.0}])
def test_energy_rejects(change):
    with pytest.raises(ValueError, match="energy_per_bit"):
        CHANNEL.energy_per_bit(**change)


def test_elmore_delay_is_the_delay_of_the_slowest_signals():
    f = np.array([1e5])
    delay = -np.angle(CHANNEL.transfer(f)) / (2 * np.pi * f)
    np.testing.assert_allclose(delay, CHANNEL.elmore_delay, rtol=0.01)  # the dielectric constant rises a little downwards


def test_transfer_at_dc():
    assert CHANNEL.transfer(np.zeros(1))[0] == 1
    terminated = replace(CHANNEL, termination=50.0)
    np.testing.assert_allclose(terminated.transfer(np.zeros(1)), 50 / (40 + 33 + 50), rtol=1e-12)
    np.testing.assert_allclose(terminated.transfer(np.array([1.0])), 50 / (40 + 33 + 50), rtol=1e-6)
    assert MIDDLE.transfer(np.zeros(1))[0] == pytest.approx(1, abs=1e-14)
    assert abs(MIDDLE.aggressors[0].transfer(np.zeros(1))[0]) < 1e-14
    np.testing.assert_array_equal(CHANNEL.noise_psd(F), 0)


def test_transfer_is_that_of_the_network_between_its_ends():
    """By node equations from the admittance matrix of the S-parameters of the whole bus."""
    f = np.array([0.3, 5.0, 30.0]) * GHz
    n, z0 = BUS.n_wires, 50.0
    s = np.moveaxis(BUS.s(f, z0), -1, 0)
    one = np.eye(2 * n)
    y = np.linalg.solve(one + s, one - s) / z0
    w = 2j * np.pi * f
    ends = np.concatenate(
        [np.full((3, n), 1 / 40.0) + w[:, None] * 250 * fF, np.full((3, n), 1 / 70.0) + w[:, None] * 300 * fF], axis=1
    )
    for driven, observed in ((2, 2), (0, 2), (4, 1)):
        current = np.zeros(2 * n)
        current[driven] = 1 / 40.0
        v = np.linalg.solve(y + ends[:, :, None] * one, np.broadcast_to(current, (3, 2 * n))[..., None])[:, n + observed, 0]
        channel = InterposerChannel(wires=BUS, driven=driven, observed=observed, termination=70.0)
        np.testing.assert_allclose(channel.transfer(f), v, atol=1e-10)


def test_modes_are_those_of_the_coupled_wires():
    """Against the general solution from full matrices: C tridiagonal, L its inverse, one impedance inside each wire."""
    f = F[1:]
    n, k = BUS.n_wires, BUS.coupling
    share = np.eye(n) - k * (np.eye(n, k=1) + np.eye(n, k=-1))
    z1, y1 = replace(BUS, n_wires=1).immittances(f)
    outside = 2j * np.pi * f * BUS.inductance
    z = (z1[0] - outside)[:, None, None] * np.eye(n) + outside[:, None, None] * np.linalg.inv(share)
    np.testing.assert_allclose(BUS.s(f, 50.0), coupled_line_s(z, y1[0][:, None, None] * share, BUS.length, 50.0), atol=1e-9)


def test_without_coupling_the_wires_are_alone():
    alone = replace(BUS, coupling=0.0)
    s, single = alone.s(F, 50.0), WIRE.s(F, 50.0)
    for i in range(alone.n_wires):
        np.testing.assert_allclose(s[np.ix_([i, i + 5], [i, i + 5])], single, atol=1e-13)
    np.testing.assert_allclose(InterposerChannel(wires=alone, driven=0, observed=1).transfer(F), 0, atol=1e-14)
    np.testing.assert_allclose(
        InterposerChannel(wires=alone, driven=3, observed=3).transfer(F), CHANNEL.transfer(F), atol=1e-13
    )


def test_crosstalk_comes_from_the_nearest_first_and_is_causal():
    f = np.arange(10001) * 10e6
    near, far = (replace(MIDDLE, driven=i).transfer(f) for i in (1, 0))
    assert np.sum(np.abs(near) ** 2) > 4 * np.sum(np.abs(far) ** 2)
    np.testing.assert_allclose(replace(MIDDLE, driven=3).transfer(f), near, atol=1e-14)  # the bus is symmetric
    for h in (MIDDLE.transfer(f), near, far):
        assert energy_before_zero(f, h) < 1e-6
    assert len(MIDDLE.aggressors) == 4
    ratio = crosstalk_ratio_db(MIDDLE.transfer(f[1:]), [a.transfer(f[1:]) for a in MIDDLE.aggressors])
    assert ratio[0] > ratio[500] > 10


def test_neighbours_close_the_eye_more_with_more_coupling():
    eyes = [worst_eye(replace(MIDDLE, wires=replace(BUS, coupling=k)), 9.2 * GBd, with_crosstalk=True) for k in (0, 0.15, 0.3)]
    assert eyes[0] > eyes[1] > eyes[2]
    assert eyes[0] == pytest.approx(worst_eye(CHANNEL, 9.2 * GBd), abs=1e-9)


@pytest.mark.parametrize("wires", [WIRE, BUS], ids=["one", "five"])
def test_wires_are_passive_reciprocal_and_hashable(wires):
    s = wires.s(F, 50.0)
    assert s.shape == (wires.n_ports, wires.n_ports, F.size)
    assert passivity(s) < 1 + 1e-12
    assert reciprocity(s) < 1e-12
    assert hash(wires) == hash(replace(wires))
    x = wires.resistance * wires.length / 50.0
    np.testing.assert_allclose(s[wires.n_wires, 0, 0], 2 / (2 + x), rtol=1e-12)
    half = replace(wires, length=1.5 * mm)
    np.testing.assert_allclose((half @ half).s(F, 50.0), s, atol=1e-11)


@pytest.mark.parametrize(
    ("good", "field", "value"),
    [
        (WIRE, "length", -1.0),
        (WIRE, "length", 3.0),
        (WIRE, "width", 0.0),
        (WIRE, "width", 2.0),
        (WIRE, "thickness", 0.0),
        (WIRE, "n_wires", 0),
        (WIRE, "n_wires", 1.5),
        (WIRE, "coupling", 0.5),
        (WIRE, "coupling", -0.1),
        (WIRE, "capacitance", 0.22e-12),
        (WIRE, "inductance", 0.33),
        (WIRE, "resistivity", 0.0),
        (WIRE, "loss_tangent", -1.0),
        (MIDDLE, "wires", None),
        (MIDDLE, "driven", 5),
        (MIDDLE, "observed", -1),
        (MIDDLE, "driver_resistance", 0.0),
        (MIDDLE, "tx_capacitance", 250.0),
        (MIDDLE, "rx_capacitance", -1e-15),
        (MIDDLE, "termination", 0.0),
    ],
)
def test_wrong_values_name_the_field(good, field, value):
    with pytest.raises(ValueError, match=field):
        replace(good, **{field: value})


def test_pulse_rejects_an_edge_longer_than_its_bit():
    with pytest.raises(ValueError, match="edge_ui"):
        pulse(CHANNEL, 9.2 * GBd, 1.5)
