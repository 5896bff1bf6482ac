"""The rules of the house, read from the source itself."""

import ast
import dataclasses
import importlib
import json
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from serdes.serialize import TYPES

ROOT = Path(__file__).parent.parent
LAYERS = ("dsp", "channels", "serdes", "experiments")
SLOW_TO_IMPORT = (
    "scipy.signal",
    "scipy.stats",
    "scipy.optimize",
    "scipy.linalg",
    "numba",
    "skrf",
    "matplotlib",
    "xarray",
    "tkinter",
)
MOST_LINES = 500


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(p): p for layer in LAYERS for p in sorted((ROOT / layer).rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def imported(statement: ast.stmt) -> list[str]:
    """Absolute names a statement imports: ``from a import b`` gives ``a.b``."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        assert statement.level == 0, "imports are absolute"
        return [f"{statement.module}.{alias.name}" for alias in statement.names]
    return []


def all_imports(name: str) -> list[str]:
    return [target for node in ast.walk(TREES[name]) for target in imported(node)]


def at_import_time(body: list[ast.stmt]) -> list[str]:
    """What the module imports when it is itself imported: not inside functions, not for type checkers."""
    found = []
    for statement in body:
        found += imported(statement)
        if isinstance(statement, ast.If):
            checking = ast.unparse(statement.test).endswith("TYPE_CHECKING")
            found += at_import_time(([] if checking else statement.body) + statement.orelse)
        elif isinstance(statement, ast.Try):
            found += at_import_time(statement.body + [s for h in statement.handlers for s in h.body] + statement.orelse)
        elif isinstance(statement, ast.With | ast.ClassDef):
            found += at_import_time(statement.body)
    return found


def module_of(target: str) -> str | None:
    """The module of ours in which an imported name lives."""
    if target in FILES:
        return target
    parent = target.rpartition(".")[0]
    return parent if parent in FILES else None


def uses(target: str, library: str) -> bool:
    return target == library or target.startswith(library + ".")


def test_there_is_something_to_check():
    assert len(FILES) > 40
    assert {name.partition(".")[0] for name in FILES} == set(LAYERS)
    assert any(uses(t, "dsp.check") for t in at_import_time(TREES["serdes.link"].body))


def test_packages_import_only_from_their_left():
    assert not [
        f"{name} imports {target}"
        for name in FILES
        for target in all_imports(name)
        if (top := target.partition(".")[0]) in LAYERS and LAYERS.index(top) > LAYERS.index(name.partition(".")[0])
    ]


def test_modules_import_modules_never_a_package_top():
    ours = [(name, t, module_of(t)) for name in FILES for t in all_imports(name) if t.partition(".")[0] in LAYERS]
    assert not [f"{name} imports {target}, which does not exist" for name, target, module in ours if module is None]
    tops = {module for module, path in FILES.items() if path.name == "__init__.py"} - {"dsp.kernels"}  # all loops by one name
    assert not [f"{name} imports {target}" for name, target, module in ours if module in tops]


def test_no_cycles():
    graph = {name: {m for t in at_import_time(tree.body) if (m := module_of(t)) and m != name} for name, tree in TREES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


def is_kernel(name):
    return name == "dsp.kernels" or name.startswith("dsp.kernels.")


def test_compiled_code_is_in_one_place_imported_when_used():
    assert all(is_kernel(n) for n in FILES if any(uses(t, "numba") for t in all_imports(n)))
    callers = [n for n in FILES if not is_kernel(n)]
    assert not [n for n in callers if any(uses(t, "dsp.kernels") for t in at_import_time(TREES[n].body))]


def test_figures_are_drawn_at_the_edge():
    drawing = [n for n in FILES if any(uses(t, "matplotlib") for t in all_imports(n))]
    assert not [n for n in drawing if n != "serdes.plot" and not n.startswith("experiments.")]
    assert not [n for n in FILES if any("pyplot" in t for t in all_imports(n))], "pyplot keeps state"


def test_slow_libraries_are_imported_when_used():
    assert not [
        f"{name} imports {target}"
        for name in FILES
        if not is_kernel(name)
        for target in at_import_time(TREES[name].body)
        if any(uses(target, library) for library in SLOW_TO_IMPORT)
    ]


def lines_with(kind: type[ast.AST], allowed: tuple[str, ...] = ()) -> list[tuple[str, ast.AST]]:
    names = [n for n in FILES if n.partition(".")[0] not in allowed]
    return [(f"{name}:{node.lineno}", node) for name in names for node in ast.walk(TREES[name]) if isinstance(node, kind)]


def test_errors_are_raised_not_asserted():
    assert not [where for where, _ in lines_with(ast.Assert)]


def test_libraries_do_not_print():
    calls = lines_with(ast.Call, allowed=("experiments",))
    assert not [where for where, call in calls if ast.unparse(call.func) == "print"]


def test_randomness_is_passed_in():
    for where, node in lines_with(ast.Attribute):
        if ast.unparse(node.value) in ("np.random", "numpy.random"):
            own = node.attr == "default_rng" and where.startswith("experiments.")
            assert own or node.attr[0].isupper(), f"{where} draws from {ast.unparse(node)}"


def without_docstring(body: list[ast.stmt], prefix: str) -> list[str]:
    missing = []
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        signature_alone = any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)
        if not ast.get_docstring(node) and not signature_alone:
            missing.append(f"{prefix}.{node.name}")
        if isinstance(node, ast.ClassDef):
            missing += without_docstring(node.body, f"{prefix}.{node.name}")
    return missing


def test_public_things_say_what_they_are():
    assert not [name for name, tree in TREES.items() if tree.body and not ast.get_docstring(tree)]
    assert not [thing for name, tree in TREES.items() for thing in without_docstring(tree.body, name)]


def test_files_are_short():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert not {name: n for name, n in lengths.items() if n > MOST_LINES}


def test_schema_types_are_values():
    for name, module in TYPES.items():
        cls = getattr(importlib.import_module(module), name)
        assert dataclasses.is_dataclass(cls), name
        assert cls.__module__ == module, name
        parameters = cls.__dataclass_params__
        assert (parameters.frozen, parameters.eq, cls.__hash__ is not None) == (True, True, True), name
        fields = dataclasses.fields(cls)
        assert len(fields) < 2 or all(f.kw_only for f in fields), f"{name}: several fields are given by name"


PROBE = """
import importlib, json, sys
slow = json.loads(sys.argv[1])
found = {}
for stage in json.loads(sys.argv[2]):
    for module in stage.split():
        importlib.import_module(module)
    found[stage] = [m for m in slow if m in sys.modules]
print(json.dumps(found))
"""


def test_imports_are_light():
    libraries = [n for n in FILES if not n.startswith("experiments") and not is_kernel(n)]
    stages = ["serdes channels dsp", "serdes.link", " ".join(libraries)]
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(SLOW_TO_IMPORT), json.dumps(stages)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )  # fmt: skip
    assert json.loads(done.stdout) == {stage: [] for stage in stages}
