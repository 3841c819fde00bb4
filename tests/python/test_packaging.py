"""What surrounds a release agrees: addresses, dependencies, references, pinned actions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml: Any = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Homepage"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_addresses_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["repository-code"] == HOME
    assert citation["license"] == PROJECT["license"]
    for name in ("packaging/conda/meta.yaml", "packaging/icecore.service", "docs/comparison.md"):
        found = set(re.findall(r"https://github\.com/[\w-]+/icecore\b", (ROOT / name).read_text()))
        assert found == {HOME}, name
    assert PROJECT["urls"]["Documentation"] in (ROOT / "mkdocs.yml").read_text()


def test_every_study_is_cited() -> None:
    bench = tomllib.loads((ROOT / "bench" / "pyproject.toml").read_text())
    studies = set(bench["project"]["entry-points"]["icecore.studies"])
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    named = {re.findall(r"icecore bench (\w+)", item["notes"])[0] for item in citation["references"]}
    assert named == studies


def test_the_conda_recipe_has_the_dependencies_of_the_wheel() -> None:
    jinja2 = pytest.importorskip("jinja2")
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    text = re.sub(r"  # \[.*\]", "", (ROOT / "packaging" / "conda" / "meta.yaml").read_text())
    words = {"load_file_data": lambda *_, **__: cargo, "compiler": str, "stdlib": str, "PYTHON": "python"}
    recipe = yaml.safe_load(jinja2.Template(text).render(words))
    assert recipe["package"]["name"] == PROJECT["name"]
    assert recipe["package"]["version"] == cargo["workspace"]["package"]["version"]
    run = {item.replace(" ", "") for item in recipe["requirements"]["run"]} - {"python"}
    assert run == {item.replace(" ", "") for item in PROJECT["dependencies"]}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_permissions_least(workflow: Path) -> None:
    text = workflow.read_text()
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v?\d+\.\d+\.\d+", comment), f"{action} has no version beside it"
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    document = yaml.safe_load(text)
    assert document["permissions"] in ({}, {"contents": "read"})
    writers = {
        name: {key for key, value in (job.get("permissions") or {}).items() if value == "write"}
        for name, job in document["jobs"].items()
    }
    allowed = {"publish": {"id-token", "attestations"}, "page": {"contents"}}
    assert all(rights <= allowed.get(name, set()) for name, rights in writers.items())


def test_the_container_runs_without_rights() -> None:
    text = (ROOT / "packaging" / "Containerfile").read_text()
    users = re.findall(r"^USER (\d+)$", text, re.MULTILINE)
    assert len(users) == 1
    assert int(users[0]) > 0
    assert text.index("USER ") > text.rindex("RUN ")
    assert re.search(r"HEALTHCHECK[^#]*/health", text)
    assert "--read-only" in text


def test_the_unit_is_confined() -> None:
    text = (ROOT / "packaging" / "icecore.service").read_text()
    for line in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="):
        assert f"\n{line}\n" in text
