import json

import numpy as np
import pytest
from typer.testing import CliRunner

from channels import port_map
from channels.copper import Twinax
from channels.file_network import FileNetwork
from channels.pair import TwinaxPair
from channels.touchstone import write_touchstone
from experiments import crosstalk_sums
from experiments.commands.files import commands
from experiments.studies import channel

F = np.arange(0, 801) * 50e6
ODD = np.ix_((0, 2, 1, 3), (0, 2, 1, 3))
ODD_MAP = port_map.named("1-2/3-4")
FAR, NEAR = 0.01, 0.02  # at the end of the band, far-end crosstalk below the through path


def coupling(level, delay):
    """Crosstalk that rises with frequency, on the port order of the through file."""
    s = np.zeros((4, 4, F.size), complex)
    h = level * F / F[-1] * np.exp(-2j * np.pi * F * delay)
    for a, b in ((0, 1), (2, 3)):
        s[a, b] = s[b, a] = h
    return s


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("set ü")
    s = TwinaxPair(cable=Twinax(length=0.3)).s(F, 50.0)[ODD]
    write_touchstone(path / "line_THRU.s4p", F, s)
    write_touchstone(path / "line_FEXT1.s4p", F, coupling(FAR, 1.3e-9))
    write_touchstone(path / "line_FEXT2.s4p", F, coupling(FAR, 1.3e-9))
    write_touchstone(path / "line_NEXT1.s4p", F, coupling(NEAR, 0.1e-9))
    return path


@pytest.fixture(scope="module")
def told(folder):
    result = CliRunner().invoke(commands, ["channel", str(folder), "--rate", "112G", "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_a_folder_with_one_through_file_gives_its_crosstalk(told):
    (row,) = told["set"]
    assert row["victim"] == "line_THRU.s4p"
    assert (row["far_end"], row["near_end"]) == (["line_FEXT1.s4p", "line_FEXT2.s4p"], ["line_NEXT1.s4p"])
    kinds = {file["name"]: file["kind"] for file in told["files"]}
    assert kinds == {"line_THRU": "through", "line_FEXT1": "fext", "line_FEXT2": "fext", "line_NEXT1": "next"}


def test_powers_add_and_the_ratio_is_what_is_left(told):
    (row,) = told["set"]
    at = 26.5625e9 / F[-1]
    far, near = -20 * np.log10(FAR * at * np.sqrt(2)), -20 * np.log10(NEAR * at)
    both = -20 * np.log10(at * np.hypot(FAR * np.sqrt(2), NEAR))
    got = [row[f"{key}_loss_at_nyquist_db"] for key in ("psfext", "psnext", "psxt")]
    np.testing.assert_allclose(got, [far, near, both], atol=0.01)
    loss = next(file["loss_at_nyquist_db"] for file in told["files"] if file["kind"] == "through")
    assert row["icr_at_nyquist_db"] == pytest.approx(both - loss, abs=0.01)


def test_the_noise_is_that_of_com(channels_dir):
    """1.0860 mV by the task force's script on the same three files."""
    answer = channel.run([channels_dir / "ck_backplane_dpo4in"], rate="112G")
    (row,) = answer.tables["set"]
    assert row["icn_mv"] == pytest.approx(1.0860082663358177, rel=2e-5)
    assert "802.3ck-kr" in row["icn_basis"]
    assert any("ICN 1.086 mV" in note and "FENG89" in note for note in answer.notes)


def test_the_sums_are_drawn_and_tabled(folder):
    answer = channel.run([folder], rate="112G")
    left, right = answer.figures["crosstalk"]().axes
    assert len(left.lines) == 2 + 3 + 1  # through and sum, three files, Nyquist
    assert "ICN" in right.get_title()
    assert {"through_db", "psfext_db", "psnext_db", "psxt_db", "icr_db"} <= set(answer.tables["crosstalk"][5])


def test_what_cannot_be_summed_is_told(folder, tmp_path):
    for name in ("line_THRU", "line_FEXT1"):
        (tmp_path / f"{name}.s4p").write_bytes((folder / f"{name}.s4p").read_bytes())
    slow = channel.run([tmp_path], rate="56G").tables["set"][0]
    assert slow["icn_mv"] is None
    assert "26.5625 GBd" in slow["icn_basis"]
    assert slow["psnext_loss_at_nyquist_db"] is None
    fast = channel.run([tmp_path], rate="224G")
    assert fast.tables["set"][0]["icr_at_nyquist_db"] is None  # the data end below
    assert any("no common data" in note for note in fast.notes)
    through, far = (FileNetwork.open(tmp_path / f"line_{n}.s4p", m) for n, m in (("THRU", None), ("FEXT1", ODD_MAP)))
    assert crosstalk_sums.find([(through, 53.125e9)]) == (None, [])
    nothing, why = crosstalk_sums.find([(n, 53.125e9) for n in (through, FileNetwork.open(second(tmp_path)), far)])
    assert nothing is None
    assert "needs one through file" in why[0]


def test_the_noise_needs_a_uniform_grid(folder, tmp_path):
    keep = np.r_[0:400, 401:801]
    write_touchstone(tmp_path / "line_THRU.s4p", F, TwinaxPair(cable=Twinax(length=0.3)).s(F, 50.0)[ODD])
    write_touchstone(tmp_path / "line_FEXT1.s4p", F[keep], coupling(FAR, 1.3e-9)[:, :, keep])
    (row,) = channel.run([tmp_path], rate="112G").tables["set"]
    assert row["icn_mv"] is None
    assert row["icn_basis"] == "line_FEXT1.s4p is not on a uniform grid"
    assert row["icr_at_nyquist_db"] > 20


def second(folder):
    write_touchstone(folder / "other_THRU.s4p", F, TwinaxPair(cable=Twinax(length=0.2)).s(F, 50.0)[ODD])
    return folder / "other_THRU.s4p"
