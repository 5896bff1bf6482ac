"""Channel files: read, converted, conditioned, and the pulse."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from channels import file_data, file_network, import_report
from channels.channel_set import ChannelSet
from channels.copper import CopperChannel
from channels.file_network import FileNetwork
from channels.time_domain import pulse
from channels.touchstone import write_touchstone

F = np.arange(0, 6001) * 10e6


def _file(folder, n_ports):
    """Through paths 1-2, 3-4, ... with everything else at -80 dB."""
    rng = np.random.default_rng(1)
    s = 1e-4 * (rng.normal(size=(n_ports, n_ports, F.size)) + 1j * rng.normal(size=(n_ports, n_ports, F.size)))
    h = np.exp(-3e-6 * np.sqrt(2j * np.pi * F) - 2j * np.pi * F * 2e-9)
    for k in range(0, n_ports, 2):
        s[k, k + 1] = s[k + 1, k] = h
    path = folder / f"channel.s{n_ports}p"
    write_touchstone(path, F, s)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def _forget():
    for kept in (file_data._FILES, file_network._CONDITIONED, file_network._REPORTS, import_report._PASSIVITY):
        kept.clear()


def test_pulse_of_a_4_port_of_6001_points(benchmark, folder):
    path = _file(folder, 4)

    def work():
        _forget()
        return pulse(CopperChannel(parts=(FileNetwork.open(path),)), 53.125e9)

    benchmark.pedantic(work, rounds=3, warmup_rounds=1)


def test_lane_and_aggressors_of_a_12_port_of_6001_points(benchmark, folder):
    path = _file(folder, 12)

    def work():
        _forget()
        return ChannelSet.of_lanes(path, victim=1, near_end=(2,))

    benchmark.pedantic(work, rounds=2)


OPEN = """
import sys
from channels.channel_set import ChannelSet
def peak():
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
idle = peak()
ChannelSet.of_lanes(sys.argv[1], victim=1, near_end=(2,))
print(idle, peak())
"""


def test_memory_of_a_12_port_of_6001_points(benchmark, folder):
    """Peak resident memory of a process that opens a lane and its aggressors, in the figures of the run: asked is below 500 MB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of a process is read from /proc")
    path = _file(folder, 12)

    def work():
        done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
        return [int(kilobytes) / 1000 for kilobytes in done.stdout.split()]

    idle, peak = benchmark.pedantic(work, rounds=1)
    benchmark.extra_info |= {"file_mb": path.stat().st_size / 1e6, "idle_mb": idle, "peak_mb": peak}
    print(f"file {path.stat().st_size / 1e6:.0f} MB, process before it {idle:.0f} MB, at its peak {peak:.0f} MB")
    assert peak < 500
