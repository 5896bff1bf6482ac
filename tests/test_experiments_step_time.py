"""Step time: published tables and identities."""

from dataclasses import replace

import numpy as np
import pytest

from dsp.units import GB, TB
from experiments import step_time as s
from experiments import systems as systems_module
from experiments.collectives import multirail_ring, ring
from experiments.measurements import FITTED_RUN, SCALING, fitted_constant, mean_error, scaling_time
from experiments.platforms import platform
from experiments.simulated_reach import PostFec
from experiments.studies import allreduce, parallelism
from experiments.studies.allreduce import SIZES, Workload, curves, run
from experiments.systems import OPTICAL_RADIX, Wire, exports, optical_domain, systems

H100, B200 = platform("H100"), platform("B200")
SIZE = s.gradient_size(70e9)
WIRE = Wire(rate="200G", reach=1.45, binding="thermal", domain=72, up=721.8 * GB)


def test_compute_of_one_b200():
    assert float(s.compute_time(70e9, 4096, 1, B200.flops, 0.4)) == pytest.approx(1.91, abs=0.005)
    assert float(s.compute_time(70e9, 2143, 1, B200.flops, 0.4)) == pytest.approx(1.0, abs=1e-3)


def test_ratio_table():
    """70e9 parameters, 4.19e6 tokens a step, H100 at 0.5, 25 buckets, 1.9 us a hop of the rails."""
    n = np.array([256, 1024, 2048, 4096, 8192, 16384])
    compute = s.compute_time(70e9, 4.19e6, n, H100.flops, 0.5)
    flat = ring("all-reduce", SIZE, n, 50 * GB)
    rails = multirail_ring("all-reduce", SIZE, n, 8, H100.up, H100.nic_usable, 1.9e-6)
    open_time = s.exposed(rails, compute)
    assert compute == pytest.approx([13.92, 3.48, 1.74, 0.87, 0.43, 0.22], rel=0.015)
    assert flat / compute == pytest.approx([0.40, 1.61, 3.22, 6.44, 12.9, 25.8], rel=0.005)
    assert rails / compute == pytest.approx([0.054, 0.218, 0.438, 0.886, 1.81, 3.76], rel=0.005)
    assert open_time == pytest.approx([0.030, 0.030, 0.031, 0.214, 0.508, 0.678], abs=6e-4)
    assert s.step_mfu(compute, open_time, 0.5) == pytest.approx([0.499, 0.496, 0.491, 0.401, 0.231, 0.121], abs=6e-4)


def test_ports_bound_a_domain_that_light_joins():
    reach, domain = optical_domain("200G")
    assert reach > 1000
    assert domain == OPTICAL_RADIX
    with pytest.raises(ValueError, match="rate"):
        optical_domain("25G")
    names = [way.name for way in systems(replace(WIRE, rate="25G"), B200)]
    assert len(names) == 4
    assert not any("optics" in name for name in names)


def test_exposure_begins_at_the_backward_pass():
    assert float(s.exposed(0.6, 1.0, 10)) == pytest.approx(0.06)
    assert float(s.exposed(2 / 3, 1.0, 10**6)) == pytest.approx(0, abs=1e-6)
    assert float(s.exposed(1.0, 1.0, 1)) == 1.0  # one bucket: nothing overlaps
    assert float(s.exposed(1.0, 1.0, 10**6)) == pytest.approx(1 / 3, abs=1e-5)


def test_exposed_never_exceeds_communication():
    t = np.geomspace(1e-3, 1e3, 40)
    for buckets in (1, 5, 25, 1000):
        assert np.all(s.exposed(t, 1.0, buckets) <= t * (1 + 1e-12))


def test_tensor_parallel_stays_inside_the_domain():
    """(2/9)(t-1)F/(hB): 0.25 on NVLink 4, 1.96 on a 400G NIC at h = 8192, t = 8, kernels at half of F."""
    ratios = [s.tensor_parallel_ratio(8192, 8, 0.5 * H100.flops, b) for b in (H100.up, H100.nic_usable)]
    assert ratios == pytest.approx([0.25, 1.96], abs=0.005)


def test_tensor_parallel_ratio_from_its_parts():
    """Bytes of a layer over its FLOP (72 h^2 a token) give the closed form."""
    h, t = 8192, 8
    moved = s.tensor_parallel_volume(1.0, h, 1, t)
    compute = 72 * h**2 / (t * H100.flops)
    assert moved / H100.up / compute == pytest.approx(s.tensor_parallel_ratio(h, t, H100.flops, H100.up))


def test_zero_3_moves_half_as_much_again():
    n = np.array([8, 1024])
    assert s.data_parallel_volume(70e9, n, scheme="ZeRO-3") == pytest.approx(1.5 * s.data_parallel_volume(70e9, n))
    assert float(s.data_parallel_volume(70e9, 1024, 4.0)) / GB == pytest.approx(559, abs=0.5)


def test_roofline():
    assert s.ridge(H100.flops, H100.memory) == pytest.approx(295, abs=0.5)
    assert s.ridge(B200.flops, B200.memory) == pytest.approx(281, abs=0.5)
    assert s.weight_read_time(70e9, 8 * TB) == pytest.approx(17.5e-3)


def test_walls():
    """Communication equals compute at 12,000 tokens per GPU on a flat ring, at about 1,600 with 8 rails."""
    flat, rails = (s.walls(B200.flops, 0.4, 8 * TB, b) for b in (50 * GB, 384 * GB))
    assert flat.network == pytest.approx(12_000)
    assert rails.network == pytest.approx(1_600, rel=0.03)
    assert flat.network_overlapped == pytest.approx(1.5 * flat.network)
    assert flat.first == rails.first == "network"
    assert s.walls(B200.flops, 0.4, 0.01 * TB, 384 * GB).first == "memory"


def test_walls_are_where_times_meet():
    found = s.walls(H100.flops, 0.5, H100.memory, H100.nic)
    compute = float(s.compute_time(70e9, found.network, 1, H100.flops, 0.5))
    assert compute == pytest.approx(float(ring("all-reduce", SIZE, 10**8, H100.nic)), rel=1e-6)
    compute = float(s.compute_time(70e9, found.memory, 1, H100.flops, 0.5))
    assert compute == pytest.approx(3 * s.weight_read_time(70e9, H100.memory))


def test_expert_exchange_of_deepseek():
    """32 tokens x 9 experts x 7k x 3 bytes, 61 layers, two micro-batches: 14.76 ms at 50 GB/s, 0.82 at 900."""
    volume = 2 * s.expert_volume(32, 9, 7000, 61, 1, 2)
    assert 1e3 * volume / (50 * GB) == pytest.approx(14.76, abs=0.005)
    assert 1e3 * volume / (900 * GB) == pytest.approx(0.82, abs=0.005)


def test_pipeline():
    assert s.pipeline_bubble(1, 8) == 0
    assert s.pipeline_bubble(8, 32, 6) == pytest.approx(7 / 192)
    assert s.pipeline_volume(4096, 8192) == 2 * 4096 * 8192 * 2 * 8


def test_megatron_scaling_table():
    constant = fitted_constant()
    errors = {(r.gpus, r.batch): scaling_time(r, constant) / r.seconds - 1 for r in SCALING}
    assert errors[3072, 6144] == pytest.approx(0, abs=1e-12)
    others = [100 * e for r, e in zip(SCALING, errors.values(), strict=True) if r is not FITTED_RUN]
    assert others == pytest.approx([7.4, 4.0, -0.8, -2.6, 2.0, -5.3, -5.5], abs=0.06)
    assert mean_error(others) < 4


def test_curves_to_a_million_gpus():
    ways = systems(WIRE, B200)
    load = Workload()
    found = [curves(way, load, B200, SIZES) for way in ways]
    assert SIZES[0] == 8
    assert SIZES[-1] == 1_000_000
    flat, rails, rack, switches, _ = (f["ratio"] for f in found)
    big = SIZES > 72
    assert np.all(flat[big] > rails[big])
    assert np.all(rails[big] > rack[big])
    assert np.all(rack[big] > switches[big])
    for f in found:
        assert np.all(f["exposed"] <= f["communication"])
        assert np.all((f["mfu"] > 0) & (f["mfu"] <= load.mfu))


def test_more_full_domains_take_longer():
    """Sizes that fill domains of 8, 72 and 512; between them the smallest domain holds up the rest."""
    full = 4608 * np.unique(np.round(np.geomspace(1, 1e6 / 4608, 60)).astype(int))
    for way in systems(WIRE, B200):
        assert np.all(np.diff(curves(way, Workload(), B200, full)["ratio"]) > 0)


def test_weak_scaling_is_flat_where_bandwidth_binds():
    way = systems(WIRE, B200)[1]
    found = curves(way, Workload(), B200, np.array([1024, 4096]), strong=False)
    assert found["ratio"][1] == pytest.approx(found["ratio"][0], rel=0.02)


def lost_frames(rate, length, spent_margin_db=0.0, **others):
    loss = 10 ** (-30 + 5 * spent_margin_db)
    return PostFec(pre_fec_ber=1e-4, post_fec_ber=loss / 1e4, frame_loss=loss, octets=4154)


def test_the_study_has_every_table(monkeypatch):
    monkeypatch.setattr(allreduce, "wire", lambda rate, radix: WIRE)
    monkeypatch.setattr(allreduce, "post_fec", lost_frames)
    monkeypatch.setattr(systems_module, "post_fec", lost_frames)
    answer = run()
    example = {r["case"]: r["seconds"] for r in answer.tables["example"]}
    assert example["flat ring, one 50 GB/s NIC per GPU"] == pytest.approx(5.595, abs=1e-3)
    assert example["8 x H100 a node, 8 NICs"] == pytest.approx(0.75, abs=0.005)
    retries = answer.tables["retries"]
    assert [r["frame_loss"] for r in retries] == sorted(r["frame_loss"] for r in retries)
    assert retries[0]["p_any_retry_in_step"] < 1e-9 < retries[-1]["p_any_retry_in_step"]
    assert set(answer.texts) == {"astra_network.yml", "simai_topology.txt", "simai_flags.txt"}
    assert all(r["basis"] for r in answer.tables["ratio"])


def test_exports_carry_the_domain(monkeypatch):
    monkeypatch.setattr(systems_module, "post_fec", lost_frames)
    texts = exports(WIRE, B200, domains=4, servers=2)
    assert "npus_count: [ 72, 4 ]" in texts["astra_network.yml"]
    assert texts["simai_flags.txt"] == "-nv 721.8 -nic 48 -n_p_s 8 -g_p_s 8\n"


@pytest.mark.parametrize(
    ("field", "value"),
    [("parameters", 0), ("bytes_each", -1), ("batch", 0), ("tokens", 0), ("mfu", 0.0), ("mfu", 1.5), ("buckets", 0)],
)
def test_bad_workloads(field, value):
    with pytest.raises(ValueError, match=f"Workload.{field}"):
        replace(Workload(), **{field: value})


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: s.compute_time(0, 1, 1, 1e12, 0.5), "parameters"),
        (lambda: s.compute_time(1, 0, 1, 1e12, 0.5), "tokens"),
        (lambda: s.compute_time(1, 1, 0, 1e12, 0.5), r"\.n must"),
        (lambda: s.compute_time(1, 1, 1, 0, 0.5), "flops"),
        (lambda: s.compute_time(1, 1, 1, 1e12, 1.5), "mfu"),
        (lambda: s.gradient_size(-1), "parameters"),
        (lambda: s.gradient_size(1, 0), "bytes_each"),
        (lambda: s.data_parallel_volume(1, 8, scheme="ZeRO-9"), "scheme"),
        (lambda: s.exposed(1.0, 1.0, 0), "buckets"),
        (lambda: s.exposed(-1.0, 1.0), "communication"),
        (lambda: s.step_mfu(1.0, 0.0, 2.0), "mfu"),
        (lambda: s.tensor_parallel_ratio(0, 8, 1e12, 1e9), "hidden"),
        (lambda: s.tensor_parallel_ratio(8, 0, 1e12, 1e9), "ways"),
        (lambda: s.tensor_parallel_ratio(8, 8, 1e12, 0), "bandwidth"),
        (lambda: s.tensor_parallel_volume(0, 8, 1, 8), "tokens"),
        (lambda: s.pipeline_volume(1, 0), "hidden"),
        (lambda: s.pipeline_bubble(0, 1), "stages"),
        (lambda: s.pipeline_bubble(1, 0), "microbatches"),
        (lambda: s.pipeline_bubble(1, 1, 0), "interleave"),
        (lambda: s.expert_volume(1, 0, 1, 1, 1, 1), "experts"),
        (lambda: s.ridge(0, 1), "flops"),
        (lambda: s.ridge(1, 0), "memory"),
        (lambda: s.weight_read_time(1, 0), "memory"),
        (lambda: s.walls(1e12, 0.5, 1e12, 0), "network"),
        (lambda: scaling_time(FITTED_RUN, 0), "per_sequence"),
        (lambda: run(gpu="TPU"), "unknown platform"),
        (lambda: run(rate="448G"), "unknown rate"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_parallelism_beside_its_ratios():
    """Tensor parallelism has the published ratio but for the embeddings; pipelines send least, ZeRO-3 most."""
    rows = parallelism.table(4096, 0.5, B200, B200.up)
    (tensor,) = (r for r in rows if r["parallelism"].startswith("tensor"))
    layers = 12 * 8192**2 * 80
    known = s.tensor_parallel_ratio(8192, 8, 0.5 * B200.flops, B200.up) * layers / 70e9
    assert tensor["over_compute_on_scale_up"] == pytest.approx(known, rel=0.01)
    assert tensor["hidden_on_one_nic"] == "no"
    ordered = [r["parallelism"] for r in sorted(rows, key=lambda r: r["gb_per_step"])]
    assert ordered[0].startswith("pipeline")
    assert ordered[-1] == "data, ZeRO-3"
    assert parallelism.draw(rows, 4096).axes[0].get_xlabel()


@pytest.mark.parametrize(("field", "value"), [("active", 0.0), ("hidden", 0), ("layers", 0)])
def test_bad_shapes(field, value):
    with pytest.raises(ValueError, match=f"Shape.{field}"):
        replace(parallelism.DENSE, **{field: value})
