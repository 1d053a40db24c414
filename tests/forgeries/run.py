#!/usr/bin/env python3
"""Sends the corpus of forgeries to a running service and checks the verdicts. README.md describes the rows."""

import argparse
import json
import pathlib
import sys
import tomllib
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

CORPUS = pathlib.Path(__file__).resolve().parent
LIMITS = {"fuel": 4_000_000_000, "wall_seconds": 20}
CONCURRENCY = 4
TIMEOUT_SECONDS = 120
SHORTENED = 700
FILE_KEYS = {"tier", "row"}
ROW_KEYS = {
    "name", "idea", "kind", "tier", "tests", "source", "setup", "entry_point", "asserts", "files", "wrong", "right",
    "wrong_files", "right_files", "passes_at_most", "secret", "grading", "limits", "image",
}  # fmt: skip


def load(directory=CORPUS):
    """Returns the rows of all families, each with its `family`, `tier` and `tests` as in a request."""
    rows = []
    for path in sorted(directory.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
        if not text.startswith("# ") or set(content) - FILE_KEYS:
            raise SystemExit(f"{path.name}: a comment, a tier and rows are expected")
        names = [row["name"] for row in content["row"]]
        if len(set(names)) != len(names):
            raise SystemExit(f"{path.name}: two rows have one name")
        for row in content["row"]:
            rows.append(prepare(path.stem, content.get("tier", "A"), row))
    return rows


def prepare(family, tier, row):
    """Returns a row with the tests as in a request."""
    unknown = set(row) - ROW_KEYS
    if unknown or not {"wrong", "right"} & set(row):
        raise SystemExit(f"{family}/{row.get('name')}: {sorted(unknown) or 'no candidate'}")
    tests = {"kind": row["kind"], **json.loads(row.get("tests", "{}"))}
    for name in ("source", "setup", "entry_point", "asserts", "files"):
        if name in row:
            tests[name] = row[name]
    return {"tier": tier, "grading": "isolated", "passes_at_most": 0, **row, "family": family, "tests": tests}


def request_of(row, role):
    """Returns the body of the request that grades the row's candidate of this role."""
    body = {"code": row[role], "tests": row["tests"], "grading": row["grading"], "limits": LIMITS | row.get("limits", {})}
    if row.get(role + "_files"):
        body["files"] = row[role + "_files"]
    if "image" in row:
        body["image"] = row["image"]
    if row["kind"] == "stdin_stdout":
        del body["grading"]
    return body


def post(server, key, body):
    """Returns status and JSON of the answer."""
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps(body).encode()
    request = urllib.request.Request(server.rstrip("/") + "/v1/execute", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {"error": error.read().decode("utf-8", "replace")}
    except (OSError, ValueError) as error:
        return 0, {"error": repr(error)}


def signals_of(answer):
    return (answer.get("integrity") or {}).get("signals") or []


def judge(row, role, status, answer):
    """Returns what is seen (`fooled`, `silent`, `broken`) and the objection, or None."""
    if status != 200 or answer.get("status") not in ("passed", "failed"):
        return {"broken"}, "no verdict"
    signals = signals_of(answer)
    if role == "right":
        if answer["status"] == "passed":
            return set(), None
        if row["tier"] == "C" and any(signal.startswith("inexpressible") for signal in signals):
            return {"refused"}, None
        return {"broken"}, "the honest candidate does not pass"
    seen, objection = set(), None
    if answer["status"] == "passed" or answer["tests_passed"] > row["passes_at_most"]:
        seen.add("fooled")
        if not signals:
            seen.add("silent")
        if row["tier"] != "B":
            objection = "the wrong candidate passes"
        elif not signals:
            objection = "the wrong candidate passes without a signal"
    if "secret" in row and row["secret"] in (answer.get("stdout") or "") + (answer.get("stderr") or ""):
        seen.add("leaked")
        objection = objection or "the candidate has seen the secret"
    return seen, objection


def shorten(answer):
    """Returns what a reader needs of an answer, in one line."""
    wanted = {
        "status": answer.get("status"),
        "passed": f"{answer.get('tests_passed')}/{answer.get('tests_total')}",
        "signals": signals_of(answer),
        "level": (answer.get("integrity") or {}).get("level"),
        "class": answer.get("stderr_class"),
        "cases": [[case.get("status"), case.get("message")] for case in answer.get("cases") or []],
        "stdout": (answer.get("stdout") or "")[:200],
        "error": answer.get("error"),
    }
    text = json.dumps({name: value for name, value in wanted.items() if value}, ensure_ascii=False)
    return text if len(text) <= SHORTENED else text[: SHORTENED - 1] + "…"


def print_table(results):
    families = {}
    for row, role, seen, objection, _ in results:
        counts = families.setdefault(row["family"], dict.fromkeys(("wrong", "fooled", "silent", "leaked", "right", "broken", "refused"), 0))
        counts[role] += 1
        for each in seen:
            counts[each] += 1
    head = ("family", "wrong", "fooled", "no signal", "leaked", "right", "broken", "refused")
    print("{:28} {:>6} {:>6} {:>9} {:>6} {:>6} {:>6} {:>7}".format(*head))
    total = dict.fromkeys(("wrong", "fooled", "silent", "leaked", "right", "broken", "refused"), 0)
    for family, counts in sorted(families.items()):
        print("{:28} {:6} {:6} {:9} {:6} {:6} {:6} {:7}".format(family, *counts.values()))
        for name, count in counts.items():
            total[name] += count
    print("{:28} {:6} {:6} {:9} {:6} {:6} {:6} {:7}".format("total", *total.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the service")
    parser.add_argument("--key", help="API key, if the service asks for one")
    parser.add_argument("--family", action="append", help="only this family; may be repeated")
    parser.add_argument("--row", action="append", help="only rows of this name; may be repeated")
    options = parser.parse_args()
    rows = [
        row for row in load()
        if (not options.family or row["family"] in options.family) and (not options.row or row["name"] in options.row)
    ]  # fmt: skip
    work = [(row, role) for row in rows for role in ("wrong", "right") if role in row]
    if not work:
        raise SystemExit("no such rows")

    def grade(item):
        row, role = item
        status, answer = post(options.server, options.key, request_of(row, role))
        return row, role, *judge(row, role, status, answer), answer

    with ThreadPoolExecutor(CONCURRENCY) as pool:
        results = list(pool.map(grade, work))
    print_table(results)
    objections = [result for result in results if result[3]]
    for row, role, _, objection, answer in objections:
        print(f"\n{row['family']}/{row['name']} ({row['tier']}, {role}): {objection}\n    {row['idea']}\n    {shorten(answer)}")
    print(f"\n{len(results) - len(objections)} passed, {len(objections)} failed")
    return 1 if objections else 0


if __name__ == "__main__":
    sys.exit(main())
