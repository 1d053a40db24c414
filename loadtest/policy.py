"""Measures the policy gate of a running service: how much of the corpus of evasions it names, what it blocks that is
honest, and how long it takes. Prints tables in Markdown.

    python3 loadtest/policy.py [--server URL] [--policy strict] [--data DIR] [--misses]

Nothing is run: programs go to `POST /v1/scan` alone. A word of an evasion counts as found when it is among the
capabilities of the answer or the scanner of a finding; a program counts when all its words do."""

import argparse
import collections
import http.client
import json
import pathlib
import statistics
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/policy"))
import corpus

DATA = ROOT.parent / "shared/data/cases"
DEFAULT_POLICY = "default"
# Sets of programs that are right, and the share of false blocks that issue 4 allows.
CORRECT = {
    "humaneval": 0.0,
    "humaneval_plus": 0.0,
    "mbpp": 0.0,
    "mbpp_sanitized": 0.0,
    "mbpp_plus": 0.0,
    "exercism": 0.0,
    "stdin_gcj": 0.0,
    "perf": 0.0,
    "doctest": 0.01,
    "bigcodebench_stdlib": 0.01,
}
HOSTILE_CATEGORIES = ("escape", "obfuscated", "cheat")
HIGH_CONFIDENCE = 0.8
# The latency promised is for snippets up to this size; larger ones have their own row.
SMALL_BYTES = 10 * 1024
SECONDS = 60


class Service:
    """Client of the service with one kept-alive connection."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            sys.exit(f"--server {url}: an address as http://127.0.0.1:8080 is expected")
        self.url = url
        self.path = parts.path.rstrip("/") + "/v1/scan"
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=SECONDS)
        self.seconds = {"small": [], "large": []}

    def scan(self, name, code, policy):
        """The policy part of the answer."""
        body = json.dumps({"code": code, "policy": policy})
        status, text = self.exchange(body)
        if status != 200:
            sys.exit(
                f"{name}: {self.url} answered {status} to a scan under {policy}: {text[:500].decode(errors='replace')}"
            )
        try:
            verdict = json.loads(text)["policy"]
            verdict["decision"], verdict["capabilities"], verdict["findings"]
            seconds = float(verdict["scan_seconds"])
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{name}: not the answer of a scan ({error!r}): {text[:500].decode(errors='replace')}")
        size = "small" if len(code.encode(errors="surrogatepass")) <= SMALL_BYTES else "large"
        self.seconds[size].append(seconds)
        return verdict

    def exchange(self, body):
        # A second attempt, since a server may close a connection that was idle; scans change nothing.
        for last in (False, True):
            try:
                self.connection.request("POST", self.path, body, {"content-type": "application/json"})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                if last or isinstance(error, ConnectionRefusedError):
                    sys.exit(
                        f"no answer from {self.url}: {error or type(error).__name__}. Is the service running there?"
                    )


def table(heading, columns, rows):
    print(f"\n### {heading}\n")
    print(f"| {' | '.join(columns)} |")
    print(f"|{' --- |' * len(columns)}")
    for row in rows:
        print(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |")


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def words_found(verdict):
    return set(verdict["capabilities"]) | {finding["scanner"] for finding in verdict["findings"]}


def blocks(verdict):
    return [finding for finding in verdict["findings"] if finding["action"] == "block"]


def told(finding):
    """A finding in a few words."""
    what = f"{finding['scanner']}/{finding['rule']}"
    capability = f" ({finding['capability']})" if finding.get("capability") else ""
    return f"{what}{capability} line {finding['line']}, confidence {finding['confidence']}"


def reasons(verdict):
    """Returns why a program is blocked: the rules, or what the answer names when no single finding blocks."""
    rules = sorted({f"{finding['scanner']}/{finding['rule']}" for finding in blocks(verdict)})
    return ", ".join(rules or verdict.get("blocked_by") or ["no reason given"])


def recall(service, policy, list_misses):
    by_family, by_word, misses = {}, collections.defaultdict(lambda: [0, 0]), []
    for path in corpus.families():
        if corpus.is_benign(path):
            continue
        counts = by_family.setdefault(path.stem, [0, 0, 0, 0])
        for name, words, code in corpus.programs(path):
            found = words_found(service.scan(f"{path.stem}/{name}", code, policy))
            missing = [word for word in words if word not in found]
            counts[0] += 1
            counts[1] += not missing
            counts[2] += len(words)
            counts[3] += len(words) - len(missing)
            for word in words:
                by_word[word][0] += 1
                by_word[word][1] += word in found
            if missing:
                misses.append((path.stem, name, ", ".join(missing), ", ".join(sorted(found)) or "nothing"))
    total = [sum(column) for column in zip(*by_family.values())]
    rows = [
        (family, programs, whole, share(whole, programs), f"{found} of {words}")
        for family, (programs, whole, words, found) in [*by_family.items(), ("**all**", total)]
    ]
    table(
        f"Recall by family, `{policy}`",
        ("family", "programs", "named in full", "recall", "words named"),
        rows,
    )
    table(
        f"Recall by word, `{policy}`",
        ("word", "programs", "named", "recall"),
        [(word, asked, found, share(found, asked)) for word, (asked, found) in sorted(by_word.items())],
    )
    if list_misses:
        table(f"Missed, `{policy}`", ("family", "program", "not named", "named"), misses)


def precision(service):
    programs, flagged, blocked, rows = 0, 0, 0, []
    for path in filter(corpus.is_benign, corpus.families()):
        for name, _, code in corpus.programs(path):
            programs += 1
            verdict = service.scan(f"{path.stem}/{name}", code, DEFAULT_POLICY)
            blocking = blocks(verdict)
            blocked += bool(blocking) or verdict["decision"] == "block"
            high = [
                finding
                for finding in verdict["findings"]
                if finding["action"] == "flag" and finding["confidence"] >= HIGH_CONFIDENCE
            ]
            flagged += bool(high)
            if verdict["decision"] == "block" and not blocking:
                rows.append((path.stem, name, "block", reasons(verdict)))
            rows += [(path.stem, name, finding["action"], told(finding)) for finding in blocking + high]
    table(
        f"Benign look-alikes, `{DEFAULT_POLICY}`",
        ("programs", "not blocked", "precision", f"flagged with confidence >= {HIGH_CONFIDENCE}"),
        [(programs, programs - blocked, share(programs - blocked, programs), flagged)],
    )
    if rows:
        table("Benign programs with such findings", ("theme", "program", "action", "finding"), rows)


def sources(case):
    """Name and text of each Python source of a case."""
    files = {name: text for name, text in (case.get("files") or {}).items() if name.endswith(".py")}
    if case["code"] not in files.values():
        yield case["id"], case["code"]
    for name, text in files.items():
        yield f"{case['id']} {name}", text


def cases(data, name):
    with open(data / f"{name}.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def false_blocks(service, data):
    rows, blocked_rows = [], []
    for name, allowed in CORRECT.items():
        # `perf` has no other variant; elsewhere the field says which programs are right.
        right = [case for case in cases(data, name) if case["variant"].startswith("correct") or name == "perf"]
        programs, blocked = len(right), 0
        for case in right:
            verdicts = [(label, service.scan(label, code, DEFAULT_POLICY)) for label, code in sources(case)]
            refused = [(label, verdict) for label, verdict in verdicts if verdict["decision"] == "block"]
            blocked += bool(refused)
            blocked_rows += [(label, reasons(verdict)) for label, verdict in refused]
        fits = "yes" if blocked <= allowed * programs else "**no**"
        rows.append((name, programs, blocked, share(blocked, programs), f"{100 * allowed:g} %", fits))
    table(
        f"False blocks of correct programs, `{DEFAULT_POLICY}`",
        ("set", "programs", "blocked", "share", "allowed", "kept"),
        rows,
    )
    if blocked_rows:
        table("Correct programs that are blocked", ("program", "by"), blocked_rows)


def hostile(service, data, policy):
    rows, benign_rows = [], []
    for case in cases(data, "hostile"):
        if case.get("code") is None:
            continue
        if case["category"] in HOSTILE_CATEGORIES:
            verdict = service.scan(case["id"], case["code"], policy)
            text = ", ".join(sorted(words_found(verdict) & corpus.SCANNERS))
            rows.append((case["id"], verdict["decision"], ", ".join(verdict["capabilities"]) or "**none**", text))
        elif case["category"] == "benign":
            verdict = service.scan(case["id"], case["code"], DEFAULT_POLICY)
            why = reasons(verdict) if verdict["decision"] == "block" else ""
            benign_rows.append((case["id"], verdict["decision"], why))
    table(
        f"hostile.jsonl, `{policy}`: {', '.join(HOSTILE_CATEGORIES)}",
        ("program", "decision", "capabilities", "text scanners"),
        rows,
    )
    named = sum(row[2] != "**none**" for row in rows)
    print(f"\nSome capability is named for {named} of {len(rows)} programs ({share(named, len(rows))}).")
    table(f"hostile.jsonl, `{DEFAULT_POLICY}`: benign", ("program", "decision", "blocked by"), benign_rows)


def latency(service):
    rows = []
    for size, label in (("small", f"up to {SMALL_BYTES // 1024} KiB"), ("large", "larger")):
        seconds = service.seconds[size]
        if len(seconds) < 2:
            continue
        hundredths = statistics.quantiles(seconds, n=100, method="inclusive")
        figures = (hundredths[49], hundredths[98], max(seconds))
        rows.append((label, len(seconds), *(f"{1000 * figure:.3f}" for figure in figures)))
    table("Time of the gate (`scan_seconds`)", ("snippets", "scans", "p50 ms", "p99 ms", "max ms"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--policy", default="strict", help="the pack that recall is measured under")
    parser.add_argument("--data", type=pathlib.Path, default=DATA, help="directory with the sets of cases")
    parser.add_argument("--misses", action="store_true", help="list what was missed")
    arguments = parser.parse_args()
    absent = [name for name in [*CORRECT, "hostile"] if not (arguments.data / f"{name}.jsonl").is_file()]
    if absent:
        sys.exit(f"--data {arguments.data}: no {', '.join(f'{name}.jsonl' for name in absent)} there")
    service = Service(arguments.server)
    recall(service, arguments.policy, arguments.misses)
    precision(service)
    false_blocks(service, arguments.data)
    hostile(service, arguments.data, arguments.policy)
    latency(service)


main()
