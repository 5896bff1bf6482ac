"""Whatever stands in a file, the answer is a clear refusal or finite numbers: never a crash, a hang or NaN."""

import os
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

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
    """What happens inside may end in a refusal that names the file and can be read."""
    try:
        yield
    except TouchstoneError as refusal:
        if str(path) not in str(refusal) or len(str(refusal)) > len(str(path)) + 1000:
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


WORDS = (
    "# GHz S MA R 50", "# Hz S RI R 50", "#", "!", "! Port[1] = A_IN_P", "[Version] 2.0", "[Number of Ports] 4", "[Number of Ports] 2",
    "[Reference] 50 50", "[Network Data]", "[Noise Data]", "[End]", "[Matrix Format] Lower", "[Two-Port Data Order] 12_21",
    "[Mixed-Mode Order] D1,2 C1,2", "[", "[]", "0", "1e9", "2e9", "-1", "1e308", "1e-320", "nan", "-inf", "1d3", "0x10", "1_000",
    "1 0 0 0 0 0 0 0 0", "2 .1 0 .9 0 .9 0 .1 0", "3 0.1 0.2", "\u00b5", "\t", "",
)  # fmt: skip


@SEEN
@given(
    st.lists(st.sampled_from(WORDS), max_size=400), st.sampled_from(["w.s2p", "w.s4p", "w.ts"]), st.sampled_from(["\n", " "])
)
def test_words_of_the_format_in_any_order(folder, words, name, glue):
    (folder / name).write_text(glue.join(words), encoding="utf-8")
    use(folder / name)


@SEEN
@given(networks(), st.randoms(use_true_random=False), st.integers(1, 6))
def test_good_files_with_damage(folder, network, random, cuts):
    """Bytes changed, parts taken out, doubled or moved, as a bad disk or a bad script does."""
    f, s = network
    path = folder / f"v.s{len(s)}p"
    write_touchstone(path, f, s)
    content = bytearray(path.read_bytes())
    for _ in range(cuts):
        a, b = sorted(random.randrange(len(content) + 1) for _ in range(2))
        b = min(b, a + 200)
        match random.randrange(4):
            case 0:
                del content[a:b]
            case 1:
                content[a:a] = content[a:b]
            case 2 if a < len(content):
                content[a] = random.randrange(256)
            case _:
                content[a:b] = content[a:b][::-1]
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a number of 1e300 by chance may overflow on its way to the refusal
        use(path)


SIZE, LONGEST = 300_000, 120
"""Bytes of a large soup; seconds in which all of them must be done, some hundred times what they take."""
LARGE = {
    "random bytes": lambda rng: rng.integers(0, 256, SIZE, np.uint8).tobytes(),
    "random text": lambda rng: rng.integers(32, 127, SIZE, np.uint8).tobytes(),
    "one line": lambda rng: b"# Hz S RI R 50\n" + b" ".join(b"%d" % x for x in rng.integers(0, 99, SIZE // 3)),
    "one number a line": lambda rng: b"# Hz S RI R 50\n" + b"\n".join(b"%d" % x for x in rng.integers(0, 99, SIZE // 3)),
    "only blanks": lambda rng: b" \t" * (SIZE // 2),
    "only line ends": lambda rng: b"\r\n" * (SIZE // 2),
    "only comments": lambda rng: b"! port[1] = x\n" * (SIZE // 14),
    "only keywords": lambda rng: b"[Reference] 50\n" * (SIZE // 15),
    "open bracket": lambda rng: b"[" + b"[ " * (SIZE // 2),
    "option without end": lambda rng: b"# GHz S MA R" + b" 50" * (SIZE // 3),
    "one long token": lambda rng: b"# Hz S RI R 50\n" + b"1" * SIZE,
    "digits and marks": lambda rng: (
        b"# Hz S RI R 50\n" + rng.choice(list(b"0123456789.eE+-_ \n"), SIZE).astype(np.uint8).tobytes()
    ),
    "rows of a two-port": lambda rng: (
        b"# Hz S RI R 50\n" + b"".join(b"%d .1 0 .8 0 .8 0 .1 0\n" % (i * 10**7) for i in range(SIZE // 30))
    ),
    "rows in any order": lambda rng: (
        b"# Hz S RI R 50\n" + b"".join(b"%d .1 0 .8 0 .8 0 .1 0\n" % f for f in rng.permutation(SIZE // 30))
    ),
}


def use_large(folder):
    """Every large soup under every extension; says which, so that a hang has a name."""
    rng = np.random.default_rng(1)
    for what, make in LARGE.items():
        content = make(rng)
        for name in ("large.s2p", "large.s4p", "large.ts"):
            print(f"{what} as {name}", flush=True)
            (folder / name).write_bytes(content)
            use(folder / name)


def test_large_soups_end(tmp_path):
    """In a process of their own, which is ended if they are not: a hang is a failure with a name, not a stuck run."""
    here = Path(__file__).parent
    command = "import pathlib, sys; import test_channels_file_soup as soup; soup.use_large(pathlib.Path(sys.argv[1]))"
    paths = os.pathsep.join([str(here), str(here.parent)])
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", command, str(tmp_path)], capture_output=True, text=True, timeout=LONGEST,
            env={**os.environ, "PYTHONPATH": paths}, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as hang:
        said = hang.stdout.decode() if isinstance(hang.stdout, bytes) else hang.stdout
        pytest.fail(f"not done after {LONGEST} s: {(said or 'nothing begun').splitlines()[-1]}")
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]}\n{done.stderr}"
    assert len(done.stdout.splitlines()) == 3 * len(LARGE)
