#!/usr/bin/env python3
"""The same samples, graded by a benchmark's own harness and by `proofbox eval`, verdict by verdict. Samples are the
canonical solution of each task and mutants of it, the same on each run.

The harnesses run programs on this machine without isolation: use a container or a machine for this alone. Interpreters
of version 3.13, as the image's is. What is needed beside a built `proofbox`:

EvalPlus 0.3.1 with the published HumanEvalPlus.jsonl.gz (v0.1.10) or MbppPlus.jsonl.gz (v0.2.0):

    pip install --no-deps evalplus==0.3.1 wget==3.2 tempdir==0.7.1 multipledispatch==1.0.0 appdirs==1.4.4 \\
        termcolor==3.1.0 fire==0.7.1 psutil==7.1.3 rich==14.2.0
    pip install numpy==2.3.5 tqdm==4.67.1 datasets==4.4.1 tree_sitter==0.25.2 tree_sitter_python==0.25.0
    python compare.py evalplus --problems HumanEvalPlus.jsonl.gz --proofbox target/release/proofbox

BigCodeBench 0.2.5, with the packages that its tasks use in the versions of docs/reference/packages.md:

    pip install --no-deps bigcodebench==0.2.5
    python compare.py bigcodebench --problems ../shared/data/cases/bigcodebench_stdlib.jsonl --proofbox …

With tasks that use pandas, Matplotlib and the like, add `--image-name data`.

LiveCodeBench at commit 28fef95ea8c9f7a547c8329f2cd3d32b92c1fa24, unpacked to a directory. Its problems are those of
../shared/data/cases in its form: programs that read standard input, and functions with assert statements of MBPP; and
probes, programs that show where the rules differ:

    pip install numpy==2.3.5 tqdm==4.67.1
    PYTHONPATH=LiveCodeBench python compare.py livecodebench --problems ../shared/data/cases --proofbox …

It prints a row of a table and each difference with its reason, and exits with 1 if a difference has none in
differences.toml beside this. Further options go to `proofbox eval`, such as `--fuel 30000000000` to end sooner what
is endless."""

import argparse
import ast
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import tomllib

from mutants import mutant

FOLDER = pathlib.Path(__file__).resolve().parent
SEED = 19
# Mutants of each task, beside the canonical solution.
MUTANTS = 1
# Largest problem of LiveCodeBench's form, in bytes of its tests.
MAX_TESTS = 200_000
# Seconds that a sample of BigCodeBench has: the default of proofbox, where the harness has 240.
BIG_CODE_BENCH_SECONDS = 30


def lines(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return [json.loads(line) for line in file if line.strip()]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def samples_of(task, code):
    """The canonical solution and its mutants, as samples."""
    chance = random.Random(f"{SEED} {task}")
    programs = [code, *(mutant(code, chance) for _ in range(MUTANTS))]
    return [{"task_id": task, "solution": program} for program in programs if program is not None]


class Comparison:
    """Problems and samples in a directory, and what the harness makes of them."""

    def __init__(self, name, folder, problems, samples, judge, flags=()):
        self.name, self.folder, self.problems, self.judge, self.flags = name, folder, problems, judge, flags
        self.samples = folder / "samples.jsonl"
        # Verdicts that are there already are of the same samples, or not used.
        text = "".join(json.dumps(sample) + "\n" for sample in samples)
        if self.samples.exists() and self.samples.read_text(encoding="utf-8") != text:
            (folder / "theirs.json").unlink(missing_ok=True)
        self.samples.write_text(text, encoding="utf-8")

    def theirs(self):
        """Verdict and message by the sample's id, as `proofbox eval` has it."""
        path = self.folder / "theirs.json"
        if not path.exists():
            path.write_text(json.dumps(self.judge(), indent=1))
        return json.loads(path.read_text())

    def ours(self, proofbox, flags):
        """Answers of `proofbox eval` by the sample's id."""
        path = self.folder / "ours.json"
        command = [proofbox, "eval", str(self.problems), "--samples", str(self.samples), "--json", str(path), "--workers", "1",
                   *self.flags, *flags]
        subprocess.run(command, stdout=sys.stderr, check=True)
        return {answer["id"]: answer for answer in json.loads(path.read_text())["results"]}


def numbered(samples):
    """The samples with the ids that `proofbox eval` gives them."""
    counts = {}
    for sample in samples:
        number = counts.setdefault(sample["task_id"], 0)
        counts[sample["task_id"]] += 1
        yield f"{sample['task_id']}#{number}", sample


def evalplus(arguments, folder):
    """EvalPlus' own command, on the problems as they are published."""
    problems = lines(arguments.problems)
    is_mbpp = problems[0]["task_id"].startswith("Mbpp/")
    samples = [sample for row in problems for sample in samples_of(row["task_id"], row["prompt"] + row["canonical_solution"])]

    def judge():
        # The command reads no other ending.
        write(folder / "problems.jsonl", problems)
        path = {"MBPP_OVERRIDE_PATH" if is_mbpp else "HUMANEVAL_OVERRIDE_PATH": str(folder / "problems.jsonl")}
        command = [sys.executable, "-m", "evalplus.evaluate", "--dataset", "mbpp" if is_mbpp else "humaneval", "--samples",
                   str(folder / "samples.jsonl"), "--parallel", "1"]
        result = folder / "samples_eval_results.json"
        result.unlink(missing_ok=True)
        subprocess.run(command, env={**os.environ, **path, "XDG_CACHE_HOME": str(folder)}, stdout=sys.stderr, check=True)
        verdicts = {}
        for task, results in json.loads(result.read_text())["eval"].items():
            for number, done in enumerate(results):
                statuses = done["base_status"], done["plus_status"]
                verdicts[f"{task}#{number}"] = statuses == ("pass", "pass"), "base {}, plus {}".format(*statuses)
        return verdicts

    return Comparison(f"EvalPlus, {arguments.problems.name}", folder, arguments.problems, samples, judge)


def bigcodebench(arguments, folder):
    """`untrusted_check`, in processes that have the usual packages already."""
    rows = lines(arguments.problems)
    if arguments.skip:
        left_out = set(arguments.skip.read_text().split())
        rows = [row for row in rows if row["id"] not in left_out]
    problems = [{"task_id": row["id"], "complete_prompt": row["code"], "instruct_prompt": "", "canonical_solution": "",
                 "entry_point": row["entry_point"], "test": row["tests"]} for row in rows]
    write(folder / "problems.jsonl", problems)
    samples = [sample for row in rows for sample in samples_of(row["id"], row["code"])]
    tasks = {row["id"]: row for row in rows}

    def judge():
        import bigcodebench.eval

        for package in ("matplotlib.pyplot", "pandas", "sklearn", "scipy.stats", "seaborn"):
            try:
                __import__(package)
            except ImportError:
                pass
        bigcodebench.eval.TIMEOUT_LIMIT = BIG_CODE_BENCH_SECONDS
        verdicts = {}
        for name, sample in numbered(samples):
            task = tasks[sample["task_id"]]
            status, details = bigcodebench.eval.untrusted_check(
                sample["solution"], task["tests"], task["entry_point"], 30 * 1024, 30 * 1024, 10, 1, 1)
            last = [str(trace).strip().splitlines()[-1][:150] for trace in details.values() if str(trace).strip()]
            verdicts[name] = status == "pass", f"{status} {sorted(details)[:4]} {' | '.join(last[:2])}"
            if len(verdicts) % 50 == 0:
                print(f"{len(verdicts)} of {len(samples)}", file=sys.stderr, flush=True)
        return verdicts

    flags = ["--grading", "auto"]
    return Comparison(f"BigCodeBench, {arguments.problems.stem}", folder, folder / "problems.jsonl", samples, judge, flags)


def call_of(test):
    """Arguments and result of `assert f(…) == …`, where both are what JSON has."""
    try:
        comparison = ast.parse(test.strip()).body[0].test
        call, [right] = comparison.left, comparison.comparators
        if not isinstance(comparison.ops[0], ast.Eq) or not isinstance(call.func, ast.Name) or call.keywords:
            return None
        args, expected = [ast.literal_eval(arg) for arg in call.args], ast.literal_eval(right)
        if json.loads(json.dumps([args, expected])) != [args, expected]:
            return None
    except (AttributeError, IndexError, SyntaxError, TypeError, ValueError):
        return None
    return call.func.id, "\n".join(map(json.dumps, args)), json.dumps(expected)


def live_code_bench_problems(folder):
    for row in lines(folder / "stdin_gcj.jsonl"):
        tests = [test for test in row["tests"] if len(test["stdin"]) < MAX_TESTS]
        if tests and row["native"]["ms"] < 3000:
            cases = {"inputs": [test["stdin"] for test in tests], "outputs": [test["expected_stdout"] for test in tests]}
            yield row["id"], cases, samples_of(row["id"], row["code"])
    for row in lines(folder / "mbpp.jsonl"):
        calls = [call_of(test) for test in row["tests"]]
        if None in calls or row["native"]["ms"] > 3000 or row.get("setup"):
            continue
        cases = {"inputs": [call[1] for call in calls], "outputs": [call[2] for call in calls], "fn_name": calls[0][0]}
        yield row["id"], cases, samples_of(row["id"], row["code"])


def live_code_bench_probes():
    for name, probe in tomllib.loads((FOLDER / "livecodebench_probes.toml").read_text()).items():
        cases = {"inputs": [probe["input"]], "outputs": [probe["output"]]}
        if "fn_name" in probe:
            cases["fn_name"] = probe["fn_name"]
        yield f"probe/{name}", cases, [{"task_id": f"probe/{name}", "solution": probe["code"]}]


def livecodebench(arguments, folder):
    """The checker of LiveCodeBench's code generation: a sample passes if each of its results is above 0."""
    given = list(live_code_bench_probes() if arguments.probes else live_code_bench_problems(arguments.problems))
    problems = {task: {"question_id": task, "input_output": json.dumps(cases)} for task, cases, _ in given}
    samples = [sample for _, _, programs in given for sample in programs]
    write(folder / "problems.jsonl", problems.values())

    def judge():
        from lcb_runner.evaluation.compute_code_generation_metrics import check_correctness

        verdicts = {}
        for name, sample in numbered(samples):
            try:
                results, told = check_correctness(problems[sample["task_id"]], sample["solution"], timeout=6, debug=False)
            except IndexError:
                # Nothing came back in time: its callers take that for a failure, too.
                results, told = [-1], {"error_message": "global timeout"}
            passes = all(bool(result > 0) for result in results)
            verdicts[name] = passes, f"{told.get('error_message', '')} {str(told.get('error', ''))[:150]}"
        return verdicts

    name = "LiveCodeBench, probes" if arguments.probes else "LiveCodeBench's form"
    return Comparison(name, folder, folder / "problems.jsonl", samples, judge)


def pass_at_1(verdicts):
    """Mean over the tasks of the share of samples that pass."""
    tasks = {}
    for name, passes in verdicts.items():
        tasks.setdefault(name.rsplit("#", 1)[0], []).append(passes)
    return sum(sum(results) / len(results) for results in tasks.values()) / len(tasks)


def message_of(answer):
    """Status and class of an answer, and the first message that it has."""
    messages = [(answer["error"] or {}).get("message"),
                *(case["message"] for case in answer.get("cases") or [] if case["status"] != "passed")]
    return f"{answer['status']} {answer['stderr_class']} {next(filter(None, messages), '')}"


def reason_of(harness, name, theirs, ours):
    """The reason of a difference: the first whose names, and messages on either side, match."""
    for reason in tomllib.loads((FOLDER / "differences.toml").read_text())["difference"]:
        patterns = [(reason["harness"], harness), (reason.get("sample", ""), name), (reason.get("theirs", ""), theirs),
                    (reason.get("ours", ""), ours)]
        if all(re.search(pattern, text) for pattern, text in patterns):
            return reason["reason"]
    return None


def main():
    harnesses = {"evalplus": evalplus, "bigcodebench": bigcodebench, "livecodebench": livecodebench}
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("harness", choices=harnesses)
    parser.add_argument("--problems", type=pathlib.Path, required=True)
    parser.add_argument("--proofbox", default="target/release/proofbox")
    parser.add_argument("--probes", action="store_true", help="LiveCodeBench: the probes, instead of problems")
    parser.add_argument("--skip", type=pathlib.Path, help="BigCodeBench: file with tasks whose packages are not there")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for samples and results, instead of a temporary one; "
                        "verdicts of the harness that are there are used again")
    arguments, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        comparison = harnesses[arguments.harness](arguments, folder.resolve())
        theirs = comparison.theirs()
        answers = comparison.ours(arguments.proofbox, flags)
    assert answers.keys() == theirs.keys(), answers.keys() ^ theirs.keys()
    ours = {name: answer["status"] == "passed" for name, answer in answers.items()}
    unexplained, differing = 0, 0
    for name, (passes, told) in theirs.items():
        if passes == ours[name]:
            continue
        differing += 1
        said = message_of(answers[name])
        reason = reason_of(comparison.name, name, told, said)
        unexplained += reason is None
        print(f"{'EXPLAINED' if reason else 'DIFFERS'} {name}: harness {'passes' if passes else 'fails'} ({told.strip()}); "
              f"proofbox {said[:300]!r}: {reason}")
    judged = {name: passes for name, (passes, _) in theirs.items()}
    tasks = len({name.rsplit("#", 1)[0] for name in judged})
    print("| harness | tasks | samples | pass@1 of the harness | pass@1 of proofbox | same verdicts | differences |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(f"| {comparison.name} | {tasks} | {len(judged)} | {pass_at_1(judged):.4f} | {pass_at_1(ours):.4f} | "
          f"{len(judged) - differing} | {differing} |")
    print(f"{differing} differ, {unexplained} without a reason")
    raise SystemExit(bool(unexplained))


if __name__ == "__main__":
    main()
