"""Whatever stands in a file, the answer is a clear refusal or finite numbers: never a crash, a hang or NaN."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from channels import port_map
from channels.conditioning import Conditioning
from channels.copper import CopperChannel
from channels.file_network import FileNetwork, FilePorts, check_rate, open_all
from channels.time_domain import highest_rate, impedance_profile, pulse, pulse_findings
from channels.touchstone import TouchstoneError, write_touchstone

SEEN = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SCALES = (1e-9, 1e-3, 0.3, 1.0, 30.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("soup")


@contextmanager
def or_refused(path):
    """What happens inside may end in a refusal that names the file."""
    try:
        yield
    except TouchstoneError as refusal:
        if str(path) not in str(refusal):
            raise


def use(path, m=None):
    """Everything a user may do with a file, or the refusal."""
    with or_refused(path):
        net = FileNetwork.open(path, m)
        f_max = max(net.report.f_max, 1.0)
        f = np.linspace(0, 1.2 * f_max, 17)
        assert np.all(np.isfinite(net.s(f, 100.0)))
        assert net.report.text
        assert np.all(np.isfinite([net.report.delay, net.report.leading_edge, net.report.max_singular_value]))
        if net.report.f_max > 1e7:
            rate = min(highest_rate(net.report.f_max), 200e9)
            assert all(finding.message for finding in check_rate(net, rate))
            channel = CopperChannel(parts=(net,))
            assert np.all(np.isfinite(pulse(channel, rate, samples_per_symbol=4).samples))
            pulse_findings(channel, rate, net.report.f_max)
            duration = min(10 / f_max + abs(net.report.leading_edge), 1000 / f_max)
            assert np.all(np.isfinite(impedance_profile(net, f_max=f_max, duration=duration).impedance))


@SEEN
@given(st.binary(max_size=200), st.sampled_from(["x.s1p", "x.s2p", "x.s4p", "x.s8p", "x.ts", "x.txt"]))
def test_bytes(folder, content, name):
    (folder / name).write_bytes(content)
    use(folder / name)


@st.composite
def networks(draw):
    """A written network of odd grids, sizes, and entries: quiet, loud, noisy, constant, delayed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, size = draw(st.sampled_from([2, 4])), draw(st.sampled_from([2, 3, 5, 40, 300]))
    grid = draw(st.sampled_from(["from 0", "from step", "log", "gap", "random"]))
    step = draw(st.sampled_from([1e3, 1e7, 1e9]))
    f = {
        "from 0": np.arange(size) * step,
        "from step": np.arange(1, size + 1) * step,
        "log": np.geomspace(step, 1e4 * step, size),
        "gap": np.concatenate([[0.0], (np.arange(size) + 50) * step]),
        "random": np.unique(np.round(rng.uniform(0, size * step, size + 2))),
    }[grid]
    scale = rng.choice(draw(st.lists(st.sampled_from([0.0, *SCALES]), min_size=1, max_size=3)), size=(n, n, 1))
    kind = draw(st.sampled_from(["noise", "constant", "delay", "rising", "line"]))
    shape = (n, n, f.size)
    x = f / f[-1]
    s = {
        "noise": rng.normal(size=shape) + 1j * rng.normal(size=shape),
        "constant": np.ones(shape) * rng.choice([1, -1, 1j], size=(n, n, 1)),
        "delay": np.exp(2j * np.pi * f * rng.uniform(-3, 30, (n, n, 1)) / step),
        "rising": 1j * x * np.ones(shape),
        "line": np.exp(-3 * np.sqrt(1j * x) - 20j * x) * np.eye(n)[::-1, :, None],
    }[kind]
    return f, s * scale


@SEEN
@given(networks(), st.booleans())
def test_networks_of_any_content(folder, network, stated):
    f, s = network
    n = len(s)
    path = folder / f"y.s{n}p"
    write_touchstone(path, f, s)
    maps = {2: port_map.PortMap(inputs=((1,),), outputs=((2,),)), 4: port_map.named("1-2/3-4")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        use(path, maps[n] if stated else None)
        with or_refused(path):
            ports = FilePorts.open(path, maps[n], Conditioning(taper=0.1))
            assert np.all(np.isfinite(ports.s(f, 46.25)))


@SEEN
@given(st.lists(st.binary(max_size=40), max_size=4))
def test_batches(folder, contents):
    paths = []
    for i, content in enumerate(contents):
        paths.append(folder / f"z{i}.s2p")
        paths[-1].write_bytes(content)
    batch = open_all([*paths, folder / "none.s2p"])
    assert len(batch.networks) + len(batch.failures) == len(paths) + 1
    assert batch.failures[-1][0].endswith("none.s2p")
