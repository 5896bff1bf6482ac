"""A victim and what disturbs it, from a folder of files or from the lanes of one file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from channels import file_data
from channels.conditioning import Conditioning
from channels.file_network import Batch, FileNetwork, open_all, proposed_map
from channels.port_map import PortMap
from channels.touchstone_data import TouchstoneError
from dsp import check

SUFFIX = re.compile(r"\.(s\d{1,3}p|ts)$", re.IGNORECASE)
# Words of a file name; the two-letter forms only where a word begins, as in FENG89 and NENF1112.
NAMES = {
    "through": re.compile(r"thru|through|(?<![a-z])thr(?![a-z])", re.IGNORECASE),
    "fext": re.compile(r"fext|far.?end|(?<![a-z])fe(?=n|\d|_|-)", re.IGNORECASE),
    "next": re.compile(r"next|near.?end|(?<![a-z])ne(?=n|\d|_|-)", re.IGNORECASE),
}
# A far-end aggressor arrives with the through path, a near-end one comes back early; between the two the data cannot tell.
FAR, NEAR = 0.8, 0.5


@dataclass(frozen=True, kw_only=True)
class ChannelSet:
    """``victim``, and the paths from the transmitters of its ``far_end`` and ``near_end`` aggressors to its receiver.

    ``evidence``: how each file was told, ``failures``: (path, why) of files left out. Neither counts in equality.
    """

    victim: FileNetwork
    far_end: tuple[FileNetwork, ...] = ()
    near_end: tuple[FileNetwork, ...] = ()
    evidence: tuple[str, ...] = field(default=(), compare=False)
    failures: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        check.instance(self, "victim", self.victim, FileNetwork)
        for name in ("far_end", "near_end", "evidence", "failures"):
            check.instance(self, name, getattr(self, name), tuple)
        for name in ("far_end", "near_end"):
            for i, part in enumerate(getattr(self, name)):
                check.instance(self, f"{name}[{i}]", part, FileNetwork)

    @classmethod
    def of_folder(
        cls, folder: str | Path, port_map: PortMap | None = None, conditioning: Conditioning | None = None
    ) -> ChannelSet:
        """The set of the Touchstone files in ``folder``: one through file, and crosstalk files on its port map.

        A name with THRU, FEXT or NEXT in it says what a file is (as do words that begin with FE or NE). Where the name does
        not, the data do: a through path at low frequency; crosstalk that arrives with the through path is far-end, crosstalk
        within half of its time near-end. Raises TouchstoneError without exactly one through file.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise TouchstoneError(str(folder), None, "is not a folder", "check the path")
        return cls.of_files(touchstone_files(folder), port_map, conditioning, str(folder))

    @classmethod
    def of_files(
        cls, paths: Iterable[str | Path], port_map: PortMap | None = None, conditioning: Conditioning | None = None,
        name: str = "the files",
    ) -> ChannelSet:  # fmt: skip
        """The set of these files; `of_folder` says how they are told apart. ``name`` stands for them in errors."""
        return cls.of_batch(open_all(paths, port_map, conditioning), name)

    @classmethod
    def of_batch(cls, batch: Batch, name: str = "the files") -> ChannelSet:
        """The set of files that are open already; `of_files` says the rest."""
        through = [n for n in batch.networks if _kind_by_name(n.path) in (None, "through") and n.report.is_through]
        if len(through) != 1:
            found = ", ".join(Path(n.path).name for n in through) or "none"
            cause = f"needs one through file, found {found}"
            cause += "".join(f"; {Path(path).name} failed: {why}" for path, why in batch.failures)
            raise TouchstoneError(name, None, cause, "for lanes of one file take ChannelSet.of_lanes")
        victim, evidence, failures = through[0], [], list(batch.failures)
        sides: dict[str, list[FileNetwork]] = {"fext": [], "next": []}
        for network in batch.networks:
            kind, why = ("through", "the through path of the set") if network == victim else _kind(network, victim)
            if kind is None:
                failures.append((network.path, why))
                continue
            evidence.append(f"{Path(network.path).name}: {kind}, {why}")
            if network != victim:
                sides[kind].append(network)
        return cls(
            victim=victim, far_end=tuple(sides["fext"]), near_end=tuple(sides["next"]),
            evidence=tuple(evidence), failures=tuple(failures),
        )  # fmt: skip

    @classmethod
    def of_lanes(
        cls, path: str | Path, victim: int = 0, near_end: tuple[int, ...] = (), port_map: PortMap | None = None,
        conditioning: Conditioning | None = None,
    ) -> ChannelSet:  # fmt: skip
        """Lane ``victim`` (from 0) of a file of several lanes, and every other lane as its aggressor.

        Lanes named in ``near_end`` run the other way, so that their transmitters sit next to the victim's receiver; the others
        are far-end aggressors. Raises TouchstoneError for the file, ValueError for a lane that is not there.
        """
        sha256, data = file_data.load(path)
        ports = proposed_map(data, path) if port_map is None else port_map
        lanes = ports.n_lanes
        check.count("ChannelSet.of_lanes", "victim", victim, 0, lanes - 1)
        check.instance("ChannelSet.of_lanes", "near_end", near_end, tuple)
        for i, lane in enumerate(near_end):
            check.count("ChannelSet.of_lanes", f"near_end[{i}]", lane, 0, lanes - 1)
        if victim in near_end:
            raise check.fail("ChannelSet.of_lanes", "near_end", "other lanes than the victim", near_end)
        others = [k for k in range(lanes) if k != victim]

        def open_(aggressor: int | None, kind: str) -> FileNetwork:
            one = ports.lane(victim, aggressor, kind)
            network = FileNetwork(path=str(path), sha256=sha256, port_map=one, conditioning=conditioning or Conditioning())
            network.report  # noqa: B018  a map that does not fit is refused here
            return network

        return cls(
            victim=open_(None, "through"),
            far_end=tuple(open_(k, "fext") for k in others if k not in near_end),
            near_end=tuple(open_(k, "next") for k in others if k in near_end),
            evidence=tuple(f"lane {k}: {'next' if k in near_end else 'fext'}, as stated" for k in others),
        )

    @property
    def networks(self) -> tuple[FileNetwork, ...]:
        """Victim, far-end and near-end aggressors."""
        return (self.victim, *self.far_end, *self.near_end)


def touchstone_files(folder: Path) -> list[Path]:
    """Touchstone files of a folder by name, those below it not."""
    return sorted(p for p in folder.iterdir() if p.is_file() and SUFFIX.search(p.name))


def _kind_by_name(path: str) -> str | None:
    """What the name says, if it says one thing."""
    kinds = [kind for kind, pattern in NAMES.items() if pattern.search(Path(path).stem)]
    return kinds[0] if len(kinds) == 1 else None


def _kind(network: FileNetwork, victim: FileNetwork) -> tuple[str | None, str]:
    """What a crosstalk file is, "fext" or "next" or None, and why."""
    named, edge, arrival = _kind_by_name(network.path), network.report.leading_edge, victim.report.leading_edge
    by_data = None
    if edge is None or not arrival or arrival <= 0:
        timing = "no arrival time"
    else:
        timing = f"arrives at {edge:.3g} s, the through path at {arrival:.3g} s"
        by_data = "fext" if edge > FAR * arrival else "next" if edge < NEAR * arrival else None
    if named == "through":
        return None, f"named as a through file but carries none ({timing})"
    if network.report.is_through:
        return None, "a second through path"
    if named is not None:
        doubt = f"; the data look like {by_data}" if by_data not in (None, named) else ""
        return named, f"by its name ({timing}{doubt})"
    if by_data is not None:
        return by_data, f"by its data: it {timing}"
    return None, f"neither name nor data tell far end from near end ({timing}): put FEXT or NEXT in the name"
