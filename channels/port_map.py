"""Which ports of a file are the two ends of a lane: explicit maps, two named conventions, and a proposal from the data.

Ports are counted from 1, as printed in the field. Of four ports, "1-2/3-4" has its through paths from 1 to 2 and from 3 to 4:
inputs (1, 3), outputs (2, 4), port order [1 3 2 4] of COM. "1-3/2-4" has inputs (1, 2), outputs (3, 4), order [1 2 3 4]. With
more lanes the first continues 5-6/7-8 and the second has all inputs before all outputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from channels import network
from channels.touchstone_data import Finding, TouchstoneData
from dsp import check, units

Ports = tuple[int, ...]
CONVENTIONS = ("1-2/3-4", "1-3/2-4")
KINDS = ("through", "fext", "next")
LOOK_AT = (0.0, 100 * units.MHz, 1 * units.GHz)  # where a through path shows: from DC, or past a DC block
# |S| above THROUGH is a through path, below OPEN none; weaker than DOUBTFUL it may be the coupling within one pair
THROUGH, DOUBTFUL, ASIDE, OPEN = 0.5, 0.3, 0.2, 0.1


@dataclass(frozen=True, kw_only=True)
class PortMap:
    """``inputs[lane]`` and ``outputs[lane]``: (+, -) of a differential lane or (port,) of a single one, from 1."""

    inputs: tuple[Ports, ...]
    outputs: tuple[Ports, ...]

    def __post_init__(self) -> None:
        for field in ("inputs", "outputs"):
            ends = getattr(self, field)
            if not isinstance(ends, tuple) or not ends or not all(isinstance(e, tuple) and len(e) in (1, 2) for e in ends):
                raise check.fail(self, field, "a tuple of (+, -) pairs or of (port,), one per lane", ends, "write ((1, 3),)")
            for port in (p for end in ends for p in end):
                check.count(self, field, port, 1, hint="ports are counted from 1")
        check.same_length(self, ("inputs", self.inputs), ("outputs", self.outputs))
        if len({len(e) for e in self.inputs + self.outputs}) > 1:
            raise check.fail(self, "outputs", "differential or single-ended like the inputs", self.outputs)
        if len(set(self.ports)) != len(self.ports):
            raise check.fail(self, "outputs", "free of ports that are used already", self.outputs)

    @property
    def n_lanes(self) -> int:
        """Number of lanes."""
        return len(self.inputs)

    @property
    def differential(self) -> bool:
        """Whether each end is a pair of ports."""
        return len(self.inputs[0]) == 2

    @property
    def ports(self) -> Ports:
        """All ports: the inputs lane by lane, then the outputs."""
        return tuple(p for end in self.inputs + self.outputs for p in end)

    def lane(self, victim: int, aggressor: int | None = None, kind: str = "through") -> PortMap:
        """The path of one lane into the receiver of ``victim`` (lanes from 0), at its output.

        "through": its own; "fext": from the input of ``aggressor``; "next": from the output end of ``aggressor``, where the
        transmitter next to the receiver drives. ValueError for a lane that is not there.
        """
        check.one_of("PortMap.lane", "kind", kind, KINDS)
        check.count("PortMap.lane", "victim", victim, 0, self.n_lanes - 1)
        if (kind == "through") is not (aggressor is None):
            raise check.fail("PortMap.lane", "aggressor", "None for a through path and a lane for crosstalk", aggressor)
        if aggressor is None:
            return self.path(("input", victim), ("output", victim))
        check.count("PortMap.lane", "aggressor", aggressor, 0, self.n_lanes - 1)
        if aggressor == victim:
            raise check.fail("PortMap.lane", "aggressor", "another lane than the victim", aggressor)
        return self.path(("input" if kind == "fext" else "output", aggressor), ("output", victim))

    def path(self, source: tuple[str, int], sink: tuple[str, int]) -> PortMap:
        """The map of one path between any two ends, e.g. ``path(("input", 0), ("input", 1))``."""
        ends = []
        for field, end in (("source", source), ("sink", sink)):
            if len(end) != 2 or end[0] not in ("input", "output"):
                raise check.fail("PortMap.path", field, '("input" or "output", lane)', end)
            check.count("PortMap.path", field, end[1], 0, self.n_lanes - 1)
            ends.append((self.inputs if end[0] == "input" else self.outputs)[end[1]])
        return PortMap(inputs=(ends[0],), outputs=(ends[1],))


class Proposal(NamedTuple):
    """A port map found in the data, None if there is none; ``confidence`` is "clear", "ambiguous" or "none"."""

    port_map: PortMap | None
    evidence: str
    confidence: str


def named(convention: str, n_ports: int = 4) -> PortMap:
    """The map of a named convention: "1-2/3-4" or "1-3/2-4" (see the head of this module), for a multiple of 4 ports."""
    check.one_of("port_map.named", "convention", convention, CONVENTIONS)
    check.count("port_map.named", "n_ports", n_ports, 4)
    if n_ports % 4:
        raise check.fail("port_map.named", "n_ports", "a multiple of 4", n_ports)
    half = n_ports // 2
    if convention == "1-2/3-4":
        through = [(2 * k + 1, 2 * k + 2) for k in range(half)]
    else:
        through = [(k + 1, k + 1 + half) for k in range(half)]
    return _paired(through)


def from_port_order(order: tuple[int, int, int, int]) -> PortMap:
    """The map of a port order as COM writes it: (in+, in-, out+, out-), e.g. (1, 3, 2, 4)."""
    check.numbers("port_map.from_port_order", "order", order, 4)
    if len(order) != 4:
        raise check.fail("port_map.from_port_order", "order", "of 4 ports", order)
    return PortMap(inputs=(order[:2],), outputs=(order[2:],))


def _paired(through: Sequence[tuple[int, int]]) -> PortMap:
    """Lanes of neighbouring (in, out) paths."""
    pairs = list(zip(through[::2], through[1::2], strict=True))
    return PortMap(inputs=tuple((p[0], n[0]) for p, n in pairs), outputs=tuple((p[1], n[1]) for p, n in pairs))


def ends(data: TouchstoneData, port_map: PortMap) -> tuple[np.ndarray, tuple[float, ...]]:
    """Single-ended S between the ports of ``port_map`` in its order, shape (ports, ports, n_f), and their references [ohm].

    Inputs lane by lane, + before -, then outputs. Ports outside the map are terminated in their reference.
    Raises ValueError if the file lacks a port of the map.
    """
    if max(port_map.ports) > data.n_ports:
        raise check.fail("port_map.apply", "port_map", f"made of ports 1 to {data.n_ports} of {data.name}", port_map.ports)
    index = np.array(port_map.ports) - 1
    return data.s[np.ix_(index, index)], tuple(data.reference[i] for i in index)


def modes(data: TouchstoneData, port_map: PortMap) -> tuple[network.MixedMode, tuple[float, ...]]:
    """Differential and common-mode blocks between the ends of a differential map, and the differential references [ohm].

    The differential reference of an end is twice, the common one half of its single-ended reference; a pair on two references
    is brought to their mean first. Raises ValueError for a single-ended map.
    """
    if not port_map.differential:
        raise check.fail("port_map.modes", "port_map", "differential", port_map)
    s, z = ends(data, port_map)
    pairs = references(data, port_map)
    mean = tuple(x / 2 for x in pairs for _ in range(2))
    if mean != z:
        s = network.renormalise(s, z, mean)
    return network.mixed_mode(s, tuple(range(len(z)))), pairs


def references(data: TouchstoneData, port_map: PortMap) -> tuple[float, ...]:
    """Reference of each end [ohm]: that of the port, or the sum of the two of a pair."""
    return tuple(sum(data.reference[p - 1] for p in end) for end in port_map.inputs + port_map.outputs)


def apply(data: TouchstoneData, port_map: PortMap) -> tuple[np.ndarray, tuple[float, ...]]:
    """S between the ends of ``port_map``, shape (2 lanes, 2 lanes, n_f), and the reference of each end [ohm].

    Inputs lane by lane, then outputs; see `ends` and, for differential lanes, `modes`, whose common modes are terminated.
    Raises ValueError if the file lacks a port of the map.
    """
    if not port_map.differential:
        return ends(data, port_map)
    blocks, z = modes(data, port_map)
    return blocks.dd, z


def lane(
    data: TouchstoneData, port_map: PortMap, victim: int, aggressor: int | None = None, kind: str = "through"
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Two-port S (2, 2, n_f) of the through path, FEXT or NEXT into lane ``victim``, and its references; see `PortMap.lane`."""
    return apply(data, port_map.lane(victim, aggressor, kind))


def check_map(data: TouchstoneData, port_map: PortMap) -> tuple[Finding, ...]:
    """Findings on a stated map, lane by lane: a through path that is open although its ports belong to another one."""
    if port_map.n_lanes > 1:
        return tuple(finding for k in range(port_map.n_lanes) for finding in check_map(data, port_map.lane(k)))
    points = _look_at(data)
    s21 = np.abs(apply(data, port_map)[0][1, 0, points])
    if np.max(s21) >= OPEN:
        return ()
    at = f"|S21| is {s21[0]:.3g} at {data.frequency[points[0]]:g} Hz and {np.max(s21):.3g} at most up to 1 GHz under the map"
    inputs, outputs = port_map.inputs[0], port_map.outputs[0]
    text = f"{at} in={inputs} out={outputs}"
    levels = np.max(np.abs(data.s[:, inputs[0] - 1, points]), axis=1)
    levels[inputs[0] - 1] = 0
    strongest = int(np.argmax(levels)) + 1
    if levels[strongest - 1] > THROUGH and strongest in port_map.ports:
        text += f"; from port {inputs[0]} the signal goes to port {strongest}"
        return (Finding("through-open", "the through path is open at DC: " + text + ": is the port order wrong?"),)
    return (Finding("no-through", "no through path, right for crosstalk only: " + text, "info"),)


def disagreement(stated: PortMap, proposal: Proposal) -> tuple[Finding, ...]:
    """A finding where a stated differential map pairs other ports than a clear proposal; through or crosstalk, either way."""
    found = proposal.port_map
    if found is None or proposal.confidence != "clear" or not (stated.differential and found.differential):
        return ()
    ends = {frozenset(end) for end in found.inputs + found.outputs}
    if all(frozenset(end) in ends for end in stated.inputs + stated.outputs):
        return ()
    text = f"the stated map in={stated.inputs} out={stated.outputs} pairs other ports than the data show, "
    text += f"in={found.inputs} out={found.outputs}: {proposal.evidence}"
    return (Finding("map-disagrees", text),)


def propose(data: TouchstoneData) -> Proposal:
    """The most likely port map, why, and how sure.

    The largest |S_ij| of a column near DC, at 100 MHz or at 1 GHz names the through path. The lower number of each path is
    taken as its input and as the plus side of its pair: the data cannot tell. Names of ports with IN/OUT and P/N come first.
    """
    n = data.n_ports
    if n == 2:
        return Proposal(PortMap(inputs=((1,),), outputs=((2,),)), "two ports: a single-ended path from 1 to 2", "clear")
    if n % 4:
        return Proposal(None, f"{n} ports: differential lanes need a multiple of 4", "none")
    named_map = _from_names(data.port_names)
    if named_map is not None:
        found, why = named_map, "port names " + ", ".join(data.port_names[:4]) + (" ..." if n > 4 else "")
    else:
        through, why = _through(data)
        if not through:
            return Proposal(None, why, "none")
        found, doubt = _lanes(data, through)
        if doubt:
            return Proposal(found, f"{why}; {doubt}", "ambiguous")
    points, lanes = _look_at(data), found.n_lanes
    levels = np.abs(apply(data, found)[0][:, :, points])
    own = levels[range(lanes, 2 * lanes), range(lanes)].min(axis=0)
    k = int(np.argmax(own))
    levels[range(lanes, 2 * lanes), range(lanes)] = levels[range(lanes), range(lanes, 2 * lanes)] = 0
    levels[range(2 * lanes), range(2 * lanes)] = 0
    aside = float(levels[:, :, k].max())
    why += f"; differential through {own[k]:.3g}, other lanes {aside:.3g} at {data.frequency[points[k]]:g} Hz"
    return Proposal(found, why, "clear" if own[k] > THROUGH and aside < ASIDE else "ambiguous")


def _look_at(data: TouchstoneData) -> list[int]:
    """Indices of the points nearest to the frequencies where a through path shows, lowest first."""
    return sorted({int(np.argmin(np.abs(data.frequency - f))) for f in LOOK_AT})


def _through(data: TouchstoneData) -> tuple[list[tuple[int, int]], str]:
    """(input, output) of each path, ports from 1, by mutually largest |S|; by largest Re S where a pair splits |S| evenly."""
    n = data.n_ports
    best: tuple[float, list[tuple[int, int]], str] = (-1.0, [], "")
    strongest = 0.0
    for what, measure in (("|S|", np.abs), ("Re S", np.real)):
        for point in _look_at(data):
            level = measure(data.s[:, :, point])
            np.fill_diagonal(level := np.array(level, float), -np.inf)
            strongest = max(strongest, float(level.max()))
            partner = np.argmax(level, axis=0)
            own = float(level[partner, range(n)].min())
            if np.all(partner[partner] == np.arange(n)) and own > max(best[0], DOUBTFUL):
                level[partner, range(n)] = -np.inf
                through = [(i + 1, int(partner[i]) + 1) for i in range(n) if i < partner[i]]
                paths = ", ".join(f"{a}-{b}" for a, b in through)
                why = (
                    f"largest {what} of each column: {paths} with {own:.3g} or more, others {max(level.max(), 0.0):.3g} or less"
                )
                best = (own, through, f"{why} at {data.frequency[point]:g} Hz")
        if best[1]:
            return best[1], best[2]
    return (
        [],
        f"no through path: no mutual pairing of ports up to 1 GHz (largest |S_ij| {strongest:.3g}); crosstalk files need a map",
    )


def _lanes(data: TouchstoneData, through: list[tuple[int, int]]) -> tuple[PortMap, str]:
    """Paths joined to lanes: neighbours in number, or the mutually strongest coupled where the coupling says so clearly."""
    plain, n = _paired(through), len(through)
    if n == 2:
        return plain, ""
    a, b = np.array(through).T - 1
    coupling = np.sqrt(np.mean(np.abs(data.s[np.ix_(b, a)]) ** 2 + np.abs(data.s[np.ix_(a, a)]) ** 2, axis=-1))
    np.fill_diagonal(coupling, 0)
    coupling = np.maximum(coupling, coupling.T)
    mate, ordered = np.argmax(coupling, axis=0), np.sort(coupling, axis=0)
    if np.all(ordered[-1] < 1e-6) or np.all(mate == np.arange(n) ^ 1):
        return plain, ""
    if np.all(mate[mate] == np.arange(n)) and np.all(ordered[-1] > 2 * ordered[-2]):
        return _paired([through[j] for i in range(n) if i < mate[i] for j in (i, int(mate[i]))]), ""
    return plain, "which paths form a pair is not clear from their coupling: neighbours taken"


def _from_names(names: tuple[str, ...]) -> PortMap | None:
    """A map from names that hold IN or OUT and P or N as words; what else they hold names the lane."""
    lanes: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for port, name in enumerate(names, 1):
        words = [w for w in re.split(r"[^A-Z0-9+]+", name.upper()) if w]
        side = [w for w in words if w in ("IN", "OUT")]
        sign = [w for w in words if w in ("P", "N", "POS", "NEG")]
        if len(side) != 1 or len(sign) != 1:
            return None
        rest = tuple(w for w in words if w not in (side[0], sign[0]))
        lanes.setdefault(rest, {})[side[0], sign[0][0]] = port
    if not lanes or any(len(ends) != 4 for ends in lanes.values()) or 4 * len(lanes) != len(names):
        return None
    ends = list(lanes.values())
    return PortMap(
        inputs=tuple((e["IN", "P"], e["IN", "N"]) for e in ends), outputs=tuple((e["OUT", "P"], e["OUT", "N"]) for e in ends)
    )
