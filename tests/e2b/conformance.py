#!/usr/bin/env python3
"""Checks a server with E2B's API through the unmodified SDKs of PyPI (e2b, e2b-code-interpreter).

  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> python3 conformance.py [filter ...]

Environment:
  E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY   target (usually the same URL twice)
  CONF_TEMPLATE   template to create (default: the SDK's own default)
  CONF_SKIP       comma list of groups to leave out:  shell,pty,watch,snapshot,fork,pause,network,metrics,async,slow,pip,raw,template
  CONF_BIG_MB     size of the "big" payloads (default 8)
Arguments: runs only the checks whose name contains one of the words. Prints `ok name` or `FAIL name  reason`, then `N passed, M failed`.
"""

import asyncio
import base64
import datetime
import hashlib
import io
import os
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
import uuid

import e2b
import e2b.exceptions
import e2b_code_interpreter as ci
from e2b_code_interpreter import Sandbox, AsyncSandbox
from e2b import (
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    SandboxException,
    SandboxQuery,
    SandboxState,
    TimeoutException,
)


def exception_named(name, default):
    """The SDK's exception of that name, or the one that older SDKs raise."""
    return getattr(e2b, name, None) or getattr(e2b.exceptions, name, default)


FileNotFound = exception_named("FileNotFoundException", NotFoundException)
SandboxNotFound = exception_named("SandboxNotFoundException", NotFoundException)
TEMPLATE, SKIP = os.environ.get("CONF_TEMPLATE"), set(filter(None, os.environ.get("CONF_SKIP", "").split(",")))
BIG = int(os.environ.get("CONF_BIG_MB", "8")) << 20
CHECKS, made = [], []


def check(name, *groups):
    def register(function):
        CHECKS.append((name, set(groups), function))
        return function

    return register


def create(**kw):
    if TEMPLATE:
        kw.setdefault("template", TEMPLATE)
    s = Sandbox.create(**kw)
    made.append(s.sandbox_id)
    return s


_shared = {}


def sandbox():
    """The sandbox that checks share; a new one when a check has killed it."""
    s = _shared.get("s")
    if s is None or not s.is_running():
        s = _shared["s"] = create(timeout=600, metadata={"conf": RUN}, envs={"CONF_GLOBAL": "g1"})
    return s


RUN = uuid.uuid4().hex[:12]


def assert_equal(a, b):
    assert a == b, f"got {str(a)[:200]!r}, expected {str(b)[:200]!r}"


def raises(exc, f, *a, contains=None, **k):
    try:
        r = f(*a, **k)
    except exc as e:
        if contains:
            assert contains in str(e), f"message {str(e)[:200]!r} lacks {contains!r}"
        return e
    except BaseException as e:
        raise AssertionError(f"raised {type(e).__mro__[0].__name__}({str(e)[:160]}) instead of {exc}")
    raise AssertionError(f"nothing raised (got {r!r}), expected {exc}")


def out(e):
    return "".join(e.logs.stdout)


# ------------------------------------------------------------------ lifecycle
@check("create returns id and usable sandbox")
def _():
    s = sandbox()
    assert s.sandbox_id and s.is_running() is True


@check("create with bad api key -> AuthenticationException")
def _():
    raises(AuthenticationException, Sandbox.create, api_key="bad")


@check("create with unknown template -> SandboxException 404")
def _():
    e = raises(SandboxException, Sandbox.create, template="no-such-template-" + RUN)
    assert "404" in str(e) or "400" in str(e), e


@check("create with timeout over the limit -> SandboxException 400")
def _():
    raises(SandboxException, Sandbox.create, timeout=10_000_000, contains="400")


@check("create idempotency_key returns the same sandbox")
def _():
    k = "conf-" + RUN
    a = create(timeout=60, idempotency_key=k)
    b = create(timeout=60, idempotency_key=k)
    assert_equal(a.sandbox_id, b.sandbox_id)
    a.kill()


@check("get_info fields")
def _():
    i = sandbox().get_info()
    assert_equal(i.sandbox_id, sandbox().sandbox_id)
    assert_equal(i.state, SandboxState.RUNNING)
    assert_equal(i.metadata["conf"], RUN)
    assert (
        i.end_at > i.started_at
        and i.started_at.tzinfo is not None
        and i.cpu_count >= 1
        and i.memory_mb > 0
        and i.envd_version
        and i.template_id
    )


@check("get_info of unknown sandbox -> SandboxNotFoundException")
def _():
    raises(SandboxNotFound, Sandbox.get_info, "iunknown0000000000000")


@check("set_timeout moves end_at")
def _():
    s = sandbox()
    s.set_timeout(900)
    a = s.get_info().end_at
    s.set_timeout(600)
    b = s.get_info().end_at
    assert 250 < (a - b).total_seconds() < 350, (a, b)


@check("set_timeout on unknown sandbox -> NotFound")
def _():
    raises(NotFoundException, Sandbox.set_timeout, "iunknown0000000000000", 60)


@check("connect by id shares interpreter state")
def _():
    sandbox().run_code("shared_value = 41")
    t = Sandbox.connect(sandbox().sandbox_id)
    assert_equal(t.run_code("shared_value + 1").text, "42")


@check("connect never shortens the timeout")
def _():
    s = sandbox()
    s.set_timeout(600)
    a = s.get_info().end_at
    Sandbox.connect(s.sandbox_id, timeout=10)
    assert s.get_info().end_at >= a - datetime.timedelta(seconds=2)


@check("connect to unknown sandbox -> SandboxNotFoundException")
def _():
    raises(SandboxNotFound, Sandbox.connect, "iunknown0000000000000")


@check("kill returns True then False; is_running False")
def _():
    s = create(timeout=60)
    assert_equal(s.kill(), True)
    assert_equal(s.kill(), False)
    assert_equal(s.is_running(), False)


@check("Sandbox.kill classmethod on unknown id -> False")
def _():
    assert_equal(Sandbox.kill("iunknown0000000000000"), False)


@check("context manager kills on exit")
def _():
    with create(timeout=60) as s:
        i = s.sandbox_id
    assert_equal(Sandbox.kill(i), False)


@check("list: metadata filter, newest first, both orders")
def _():
    a, b = create(timeout=60, metadata={"grp": RUN + "l", "k y": "v&=ä"}), create(timeout=60, metadata={"grp": RUN + "l"})
    q = SandboxQuery(metadata={"grp": RUN + "l"})
    assert_equal([x.sandbox_id for x in Sandbox.list(query=q).next_items()], [b.sandbox_id, a.sandbox_id])
    assert_equal([x.sandbox_id for x in Sandbox.list(query=q, order="asc").next_items()], [a.sandbox_id, b.sandbox_id])
    assert_equal(
        [x.sandbox_id for x in Sandbox.list(query=SandboxQuery(metadata={"grp": RUN + "l", "k y": "v&=ä"})).next_items()], [a.sandbox_id]
    )
    a.kill()
    b.kill()


@check("list: pagination with limit and next_token")
def _():
    bs = [create(timeout=60, metadata={"grp": RUN + "p"}) for _ in range(5)]
    q = SandboxQuery(metadata={"grp": RUN + "p"})
    p, seen, pages = Sandbox.list(query=q, limit=2), [], 0
    while p.has_next:
        seen += [x.sandbox_id for x in p.next_items()]
        pages += 1
    assert_equal(pages, 3)
    assert_equal(sorted(seen), sorted(b.sandbox_id for b in bs))
    assert p.next_token is None
    p = Sandbox.list(query=q, limit=2)
    p.next_items()
    assert_equal(len(Sandbox.list(query=q, limit=2, next_token=p.next_token).next_items()), 2)
    [b.kill() for b in bs]


@check("list: state filter running")
def _():
    ids = [x.sandbox_id for x in Sandbox.list(query=SandboxQuery(metadata={"conf": RUN}, state=[SandboxState.RUNNING])).next_items()]
    sandbox()
    assert sandbox().sandbox_id in ids
    assert_equal(Sandbox.list(query=SandboxQuery(metadata={"conf": RUN}, state=[SandboxState.PAUSED])).next_items(), [])


@check("sandbox timeout kills it; run_code then -> TimeoutException", "slow")
def _():
    s = create(timeout=2)
    assert_equal(s.is_running(), True)
    time.sleep(4)
    assert_equal(s.is_running(), False)
    raises(TimeoutException, s.run_code, "1")
    raises(SandboxNotFound, s.get_info)


@check("killed sandbox: run_code, files, commands -> TimeoutException")
def _():
    s = create(timeout=60)
    s.kill()
    raises(TimeoutException, s.run_code, "1")
    raises(TimeoutException, s.files.read, "x")
    raises(TimeoutException, s.files.list, "/")
    raises(TimeoutException, s.commands.run, "echo hi")


@check("two sandboxes are isolated (variables and files)")
def _():
    a, b = create(timeout=60), create(timeout=60)
    a.run_code("z=1; open('z.txt','w').write('a')")
    assert_equal(b.run_code("z").error.name, "NameError")
    assert_equal(b.files.exists("z.txt"), False)
    a.kill()
    b.kill()


@check("get_metrics", "metrics")
def _():
    m = sandbox().get_metrics()
    assert isinstance(m, list)
    if m:
        assert m[0].cpu_count >= 1 and m[0].mem_total > 0 and m[0].disk_total > 0 and m[0].timestamp


@check("pause -> True, again -> False, state paused, connect resumes, memory kept", "pause")
def _():
    s = create(timeout=120)
    s.run_code("keep = 'k'")
    s.files.write("keep.txt", "f")
    assert_equal(s.pause(), True)
    assert_equal(s.pause(), False)
    assert_equal(Sandbox.get_info(s.sandbox_id).state, SandboxState.PAUSED)
    assert_equal(s.is_running(), False)
    s2 = Sandbox.connect(s.sandbox_id, timeout=120)
    assert_equal(s2.is_running(), True)
    assert_equal(s2.files.read("keep.txt"), "f")
    assert_equal(s2.run_code("keep").text, "k")
    s2.kill()


@check("beta_pause works and kill of a paused sandbox -> True", "pause")
def _():
    s = create(timeout=120)
    s.beta_pause()
    assert_equal(Sandbox.kill(s.sandbox_id), True)


@check("pause(mode='filesystem') keeps files, drops memory", "pause")
def _():
    s = create(timeout=120)
    s.run_code("m=1")
    s.files.write("k.txt", "f")
    s.pause(mode="filesystem")
    s.connect(timeout=120)
    assert_equal(s.files.read("k.txt"), "f")
    assert_equal(s.run_code("m").error.name, "NameError")
    s.kill()


@check("lifecycle on_timeout=pause pauses instead of killing", "pause", "slow")
def _():
    s = create(timeout=2, lifecycle={"on_timeout": "pause"})
    assert_equal(s.get_info().lifecycle["on_timeout"], "pause")
    time.sleep(4)
    assert_equal(Sandbox.get_info(s.sandbox_id).state, SandboxState.PAUSED)
    Sandbox.kill(s.sandbox_id)


@check("lifecycle auto_resume: traffic wakes a paused sandbox", "pause")
def _():
    s = create(timeout=60, lifecycle={"on_timeout": "pause", "auto_resume": True})
    s.run_code("w=7")
    s.pause()
    assert_equal(s.run_code("w").text, "7")
    s.kill()


@check("pause of unknown sandbox -> NotFound", "pause")
def _():
    raises(NotFoundException, Sandbox.pause, "iunknown0000000000000")


@check("create_snapshot, list_snapshots, create from it, delete_snapshot", "snapshot")
def _():
    s = create(timeout=60)
    s.files.write("snap.txt", "in snapshot")
    sn = s.create_snapshot()
    ids = []
    p = Sandbox.list_snapshots(sandbox_id=s.sandbox_id)
    while p.has_next:
        ids += [x.snapshot_id for x in p.next_items()]
    assert sn.snapshot_id in ids
    t = Sandbox.create(template=sn.snapshot_id, timeout=60)
    made.append(t.sandbox_id)
    assert_equal(t.files.read("snap.txt"), "in snapshot")
    assert_equal(Sandbox.delete_snapshot(sn.snapshot_id), True)
    assert_equal(Sandbox.delete_snapshot(sn.snapshot_id), False)
    s.kill()
    t.kill()


@check("fork gives independent copies", "fork")
def _():
    s = create(timeout=60)
    s.files.write("f.txt", "1")
    fs = s.fork(timeout=60, count=2)
    assert_equal(len(fs), 2)
    assert not any(isinstance(f, Exception) for f in fs), fs
    [made.append(f.sandbox_id) for f in fs]
    fs[0].files.write("f.txt", "2")
    assert_equal(fs[1].files.read("f.txt"), "1")
    assert_equal(s.files.read("f.txt"), "1")
    [f.kill() for f in fs]
    s.kill()


@check("update_network answers", "network")
def _():
    sandbox().update_network({"deny_out": ["0.0.0.0/0"]})


@check("network config is returned by get_info", "network")
def _():
    s = create(timeout=60, allow_internet_access=False, network={"deny_out": ["0.0.0.0/0"]})
    i = s.get_info()
    assert_equal(i.allow_internet_access, False)
    assert_equal(i.network["deny_out"], ["0.0.0.0/0"])
    s.kill()


# ------------------------------------------------------------------ run_code
@check("run_code x=1 has no result")
def _():
    e = sandbox().run_code("x=1")
    assert_equal(e.results, [])
    assert_equal(e.text, None)
    assert_equal(e.error, None)
    assert_equal(e.logs.stdout, [])


@check("run_code x+1 -> text, is_main_result, formats")
def _():
    e = sandbox().run_code("x=1\nx+1")
    assert_equal(e.text, "2")
    assert_equal(len(e.results), 1)
    assert_equal(e.results[0].is_main_result, True)
    assert "text" in list(e.results[0].formats())


@check("execution_count increments by one")
def _():
    a = sandbox().run_code("1").execution_count
    b = sandbox().run_code("1").execution_count
    assert_equal(b, a + 1)


@check("stdout and stderr are separate and complete")
def _():
    e = sandbox().run_code("import sys\nfor i in range(3): print('o',i)\nprint('err',file=sys.stderr)")
    assert_equal(out(e), "o 0\no 1\no 2\n")
    assert_equal("".join(e.logs.stderr), "err\n")
    assert_equal(e.text, None)


@check("print is not split into text and newline chunks")
def _():
    e = sandbox().run_code("print('hello')")
    assert_equal(e.logs.stdout, ["hello\n"])


@check("streaming callbacks, order and OutputMessage fields")
def _():
    o, er, rs, es = [], [], [], []
    e = sandbox().run_code(
        "import sys,time\nprint('a',flush=True)\nprint('b',file=sys.stderr,flush=True)\ndisplay('d')\n5",
        on_stdout=o.append,
        on_stderr=er.append,
        on_result=rs.append,
        on_error=es.append,
    )
    assert_equal("".join(m.line for m in o), "a\n")
    assert_equal("".join(m.line for m in er), "b\n")
    assert_equal([m.error for m in o + er], [False, True])
    assert_equal([r.text for r in rs], ["d", "5"])
    assert_equal(es, [])
    assert o[0].timestamp


@check("output is streamed while the cell still runs")
def _():
    t, at = time.time(), []
    sandbox().run_code(
        "import time\nprint('first',flush=True)\ntime.sleep(1.5)\nprint('second',flush=True)",
        on_stdout=lambda m: at.append(time.time() - t),
    )
    assert len(at) >= 2 and at[0] < 1.2 and at[-1] >= 1.4, at


@check("on_error callback and error fields")
def _():
    es = []
    e = sandbox().run_code("def f(): return 1/0\nf()", on_error=es.append)
    assert_equal(e.error.name, "ZeroDivisionError")
    assert_equal(e.error.value, "division by zero")
    assert "ZeroDivisionError" in e.error.traceback and "line" in e.error.traceback
    assert_equal(len(es), 1)
    assert_equal(es[0].name, e.error.name)
    assert_equal(e.results, [])


@check("output before an error is kept")
def _():
    e = sandbox().run_code("print('before')\nraise ValueError('bad thing')")
    assert_equal(out(e), "before\n")
    assert_equal((e.error.name, e.error.value), ("ValueError", "bad thing"))


@check("SyntaxError in code is an execution error, kernel survives")
def _():
    e = sandbox().run_code("def broken(:\n  pass")
    assert_equal(e.error.name, "SyntaxError")
    assert e.error.value
    assert_equal(sandbox().run_code("3*3").text, "9")


@check("IndentationError name")
def _():
    assert_equal(sandbox().run_code("if True:\nx=1").error.name, "IndentationError")


@check("uniformly indented code runs")
def _():
    assert_equal(sandbox().run_code("    a = 2\n    a * 21").text, "42")


@check("ModuleNotFoundError name")
def _():
    assert_equal(sandbox().run_code("import no_such_module_xyz").error.name, "ModuleNotFoundError")


@check("exception deriving from BaseException with args only (smolagents FinalAnswerException)")
def _():
    v = "safe:" + "x" * 200_000
    e = sandbox().run_code(
        f"class FinalAnswerException(BaseException):\n    def __init__(self, value): self.value = value\nraise FinalAnswerException({v!r})"
    )
    assert_equal(e.error.name, "FinalAnswerException")
    assert_equal(e.error.value, v)


@check("sys.exit in code -> error SystemExit, state survives")
def _():
    sandbox().run_code("alive=1")
    e = sandbox().run_code("import sys\nsys.exit(3)")
    assert_equal((e.error.name, e.error.value), ("SystemExit", "3"))
    assert_equal(sandbox().run_code("alive").text, "1")


@check("raise KeyboardInterrupt does not lose the sandbox")
def _():
    e = sandbox().run_code("raise KeyboardInterrupt")
    assert_equal(e.error.name, "KeyboardInterrupt")
    assert_equal(sandbox().run_code("1+1").text, "2")


@check("os._exit ends the cell with an error and the sandbox is usable again")
def _():
    s = create(timeout=60)
    e = s.run_code("import os\nos._exit(1)")
    assert e.error is not None
    assert_equal(s.run_code("1+1").text, "2")
    s.kill()


@check("infinite recursion -> RecursionError, kernel survives")
def _():
    e = sandbox().run_code("def r(): return r()\nr()")
    assert_equal(e.error.name, "RecursionError")
    assert_equal(sandbox().run_code("1+1").text, "2")


@check("run_code timeout -> TimeoutException promptly", "slow")
def _():
    s = create(timeout=60)
    t = time.time()
    raises(TimeoutException, s.run_code, "import time\ntime.sleep(30)", timeout=2)
    assert time.time() - t < 6
    s.kill()


@check("run_code timeout also ends a chatty cell", "slow")
def _():
    s = create(timeout=60)
    t = time.time()
    raises(TimeoutException, s.run_code, "import time\nwhile True:\n    print('.',flush=True); time.sleep(0.2)", timeout=2)
    assert time.time() - t < 8
    s.kill()


@check("after a client timeout the context is free again (interrupt on disconnect)", "slow")
def _():
    s = create(timeout=60)
    s.run_code("kept='yes'")
    raises(TimeoutException, s.run_code, "while True: pass", timeout=1.5)
    t = time.time()
    assert_equal(s.run_code("1+1", timeout=15).text, "2")
    assert time.time() - t < 12
    s.kill()


@check("long-running cell with generous timeout completes (keepalives tolerated)", "slow")
def _():
    assert_equal(sandbox().run_code("import time\ntime.sleep(7)\n'done'", timeout=30).text, "done")


@check("timeout=0 means no timeout")
def _():
    assert_equal(sandbox().run_code("1", timeout=0).text, "1")


@check("string result is unquoted in text")
def _():
    assert_equal(sandbox().run_code("'abc'").text, "abc")
    assert_equal(sandbox().run_code('"it\'s"').text, "it's")


@check("list and dict results carry json")
def _():
    e = sandbox().run_code("{'a':[1,2,None]}")
    assert_equal(e.results[0].json, {"a": [1, 2, None]})
    assert_equal(e.text, "{'a': [1, 2, None]}")
    assert_equal(sandbox().run_code("[1,'x']").results[0].json, [1, "x"])


@check("None as last expression gives no result")
def _():
    assert_equal(sandbox().run_code("None").results, [])


@check("trailing semicolon suppresses the result")
def _():
    assert_equal(sandbox().run_code("41+1;").results, [])


@check("empty and comment-only code")
def _():
    e = sandbox().run_code("")
    assert_equal((e.error, e.results), (None, []))
    e = sandbox().run_code("# nothing")
    assert_equal((e.error, e.results), (None, []))


@check("unicode in code, output, result")
def _():
    s = "héllo wörld 日本語 🐍"
    e = sandbox().run_code(f"print({s!r})\n{s!r}")
    assert_equal(out(e), s + "\n")
    assert_equal(e.text, s)


@check("line-separator characters survive the line protocol (U+2028 U+2029 U+0085 VT FF FS RS)")
def _():
    s = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\x1eh"
    e = sandbox().run_code("print('a\\u2028b\\u2029c\\u0085d\\x0be\\x0cf\\x1cg\\x1eh')")
    assert_equal(out(e), s + "\n")
    assert_equal(sandbox().run_code("class U:\n  def __repr__(s): return 'p\\u2028q\\u0085r'\nU()").text, "p\u2028q\u0085r")


@check("lone surrogate in output does not break the stream")
def _():
    e = sandbox().run_code("print('\\ud800')\nprint('after')")
    assert "after" in out(e) or e.error is not None
    assert_equal(sandbox().run_code("1+1").text, "2")


@check("NUL and control bytes in output")
def _():
    assert_equal(out(sandbox().run_code("print('a\\x00b\\x07\\x1b[31mred')")), "a\x00b\x07\x1b[31mred\n")


@check("carriage returns and CRLF are kept")
def _():
    assert_equal(out(sandbox().run_code("import sys\nsys.stdout.write('10%\\r20%\\r\\nx\\n')")), "10%\r20%\r\nx\n")


@check("big stdout arrives complete")
def _():
    e = sandbox().run_code(f"import sys\nsys.stdout.write('0123456789abcdef\\n'*({BIG}//17))")
    assert_equal(len(out(e)), BIG // 17 * 17)


@check("many small prints arrive complete and in order")
def _():
    e = sandbox().run_code("for i in range(20000): print(i)")
    assert_equal(out(e), "".join(f"{i}\n" for i in range(20000)))


@check("big result text arrives complete")
def _():
    assert_equal(len(sandbox().run_code(f"'x'*{BIG}").text), BIG)


@check("big code body is accepted")
def _():
    assert_equal(sandbox().run_code("s='" + "y" * (1 << 20) + "'\nlen(s)").text, str(1 << 20))


@check("top-level await")
def _():
    assert_equal(sandbox().run_code("import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 6\nawait f()").text, "6")


@check("display() and rich reprs: html, markdown, latex, svg, json, png bytes -> base64")
def _():
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    e = sandbox().run_code(
        f"class R:\n  def _repr_html_(s): return '<b>h</b>'\n  def _repr_markdown_(s): return '**m**'\n  def _repr_latex_(s): return '$l$'\n  def _repr_svg_(s): return '<svg/>'\n  def _repr_png_(s): return {png!r}\n  def __repr__(s): return 'R!'\ndisplay(R())\nR()"
    )
    assert_equal(len(e.results), 2)
    assert_equal([r.is_main_result for r in e.results], [False, True])
    r = e.results[1]
    assert_equal((r.text, r.html, r.markdown, r.latex, r.svg), ("R!", "<b>h</b>", "**m**", "$l$", "<svg/>"))
    assert_equal(base64.b64decode(r.png), png)


@check("_repr_mimebundle_ and unknown MIME types land in extra")
def _():
    e = sandbox().run_code(
        "class M:\n  def _repr_mimebundle_(s, include=None, exclude=None): return {'text/plain':'pm','text/html':'<i>','application/x-conf':'zz'}\nM()"
    )
    assert_equal((e.results[0].text, e.results[0].html), ("pm", "<i>"))
    assert_equal(e.results[0].extra["application/x-conf"], "zz")


@check("from IPython.display import display, HTML")
def _():
    e = sandbox().run_code("from IPython.display import display, HTML\ndisplay(HTML('<p>x</p>'))")
    assert_equal(e.error, None)
    assert_equal(e.results[0].html, "<p>x</p>")


@check("matplotlib figure gives a png result (n/a counts as ok when matplotlib is absent)")
def _():
    e = sandbox().run_code("import matplotlib.pyplot as plt\nplt.plot([1,2,3])\nplt.show()")
    if e.error and e.error.name == "ModuleNotFoundError":
        return
    assert any(r.png and base64.b64decode(r.png)[:4] == b"\x89PNG" for r in e.results), e


@check("underscore holds the last result")
def _():
    sandbox().run_code("6*7")
    assert_equal(sandbox().run_code("_").text, "42")


@check("__name__ is __main__, functions and classes persist, pickle of own class works")
def _():
    sandbox().run_code("class P:\n  v=5")
    assert_equal(sandbox().run_code("import pickle\n(__name__, pickle.loads(pickle.dumps(P())).v)").text, "('__main__', 5)")


@check("locals().update at top level defines names (smolagents send_variables)")
def _():
    sandbox().run_code("locals().update({'lv': 12})")
    assert_equal(sandbox().run_code("lv").text, "12")


@check("inspect.getsource works on functions defined in a cell")
def _():
    assert "return 99" in sandbox().run_code("import inspect\ndef gs():\n    return 99\nprint(inspect.getsource(gs))").logs.stdout[0]


@check("input() fails instead of hanging")
def _():
    e = sandbox().run_code("input('?')", timeout=10)
    assert e.error is not None, e


@check("envs of run_code are visible and gone afterwards; sandbox envs visible")
def _():
    assert_equal(out(sandbox().run_code("import os\nprint(os.environ['ONE'])", envs={"ONE": 'it\'s "q" é'})), 'it\'s "q" é\n')
    assert_equal(sandbox().run_code("import os\nos.environ.get('ONE')").text, None)
    assert_equal(sandbox().run_code("import os\nos.environ['CONF_GLOBAL']").text, "g1")


@check("threads: output of a worker thread joined in the cell")
def _():
    e = sandbox().run_code("import threading\nt=threading.Thread(target=lambda: print('from thread'))\nt.start(); t.join()")
    assert out(e) == "from thread\n" or (e.error and "thread" in e.error.value), e


@check("warnings go to stderr")
def _():
    assert "careful" in "".join(sandbox().run_code("import warnings\nwarnings.warn('careful')").logs.stderr)


@check("language='python' works, unknown language -> SandboxException")
def _():
    assert_equal(sandbox().run_code("1+1", language="python").text, "2")
    raises(SandboxException, sandbox().run_code, "1", language="cobol")


@check("context and language together -> InvalidArgumentException")
def _():
    raises(InvalidArgumentException, sandbox().run_code, "1", language="python", context=ci.Context("x", "python", "/"))


@check("%pip / !pip never raise a cell error (smolagents installs that way)", "pip")
def _():
    e = sandbox().run_code("!pip --version")
    assert_equal(e.error, None)
    e = sandbox().run_code("%pip --version")
    assert_equal(e.error, None)


@check("execution.to_json round trip")
def _():
    import json

    j = json.loads(sandbox().run_code("print(1)\n2").to_json())
    assert_equal(j["results"][0]["text"], "2")
    assert_equal(json.loads(j["logs"])["stdout"], ["1\n"])


@check("parallel run_code in the same context is serialised")
def _():
    s = sandbox()
    s.run_code("acc=[]")
    r = []
    ts = [
        threading.Thread(
            target=lambda i=i: r.append(s.run_code(f"import time\nacc.append(({i},'s')); time.sleep(0.1); acc.append(({i},'e'))"))
        )
        for i in range(4)
    ]
    [t.start() for t in ts]
    [t.join() for t in ts]
    assert_equal(len(r), 4)
    assert all(x.error is None for x in r)
    assert_equal(s.run_code("all(acc[i][0]==acc[i+1][0] for i in range(0,8,2)), len(acc)").text, "(True, 8)")


# ------------------------------------------------------------------ contexts
@check("create_code_context: id, language, cwd; separate namespace")
def _():
    s = sandbox()
    c = s.create_code_context(cwd="/tmp", language="python")
    assert_equal((c.language, c.cwd), ("python", "/tmp"))
    s.run_code("only='default'")
    assert_equal(s.run_code("only", context=c).error.name, "NameError")
    s.run_code("mine=1", context=c)
    assert_equal(s.run_code("mine", context=c).text, "1")
    assert_equal(s.run_code("import os\nos.getcwd()", context=c).text, "/tmp")
    s.remove_code_context(c)


@check("default context cwd is /home/user")
def _():
    s = create(timeout=60)
    assert_equal(s.run_code("import os\nos.getcwd()").text, "/home/user")
    assert_equal(s.create_code_context().cwd, "/home/user")
    s.kill()


@check("list_code_contexts contains default and created ones")
def _():
    s = sandbox()
    c = s.create_code_context()
    l = s.list_code_contexts()
    assert c.id in [x.id for x in l] and len(l) >= 2 and all(x.language and x.cwd for x in l)
    s.remove_code_context(c.id)
    assert c.id not in [x.id for x in s.list_code_contexts()]


@check("restart_code_context clears the namespace, keeps the id")
def _():
    s = sandbox()
    c = s.create_code_context()
    s.run_code("v=1", context=c)
    s.restart_code_context(c)
    assert_equal(s.run_code("v", context=c).error.name, "NameError")
    assert_equal(s.run_code("1", context=c).text, "1")
    assert c.id in [x.id for x in s.list_code_contexts()]
    s.remove_code_context(c)


@check("unknown context: run, restart, remove -> NotFoundException")
def _():
    s = sandbox()
    bad = ci.Context("no-such-context", "python", "/")
    raises(NotFoundException, s.run_code, "1", context=bad)
    raises(NotFoundException, s.restart_code_context, bad)
    raises(NotFoundException, s.remove_code_context, "no-such-context")


@check("restart while a cell runs ends that cell with an error", "slow")
def _():
    s = create(timeout=60)
    c = s.create_code_context()
    r = []

    def go():
        try:
            r.append(s.run_code("import time\ntime.sleep(20)", context=c, timeout=30))
        except Exception as e:
            r.append(e)

    t = threading.Thread(target=go)
    t.start()
    time.sleep(1)
    s.restart_code_context(c)
    t.join(10)
    assert r and (isinstance(r[0], Exception) or r[0].error is not None), r
    assert_equal(s.run_code("1", context=c).text, "1")
    s.kill()


# ------------------------------------------------------------------ files
@check("files.write text -> WriteInfo; read back")
def _():
    f = sandbox().files
    w = f.write("t/a.txt", "line\nhéé")
    assert_equal((w.name, w.path), ("a.txt", "/home/user/t/a.txt"))
    assert w.type and w.type.value == "file"
    assert_equal(f.read("t/a.txt"), "line\nhéé")
    assert_equal(f.read("/home/user/t/a.txt"), "line\nhéé")


@check("files binary round trip (all byte values, bytes and stream)")
def _():
    d = bytes(range(256)) * 300
    f = sandbox().files
    f.write("b.bin", d)
    r = f.read("b.bin", format="bytes")
    assert_equal(bytes(r), d)
    assert isinstance(r, bytearray)
    assert_equal(b"".join(f.read("b.bin", format="stream")), d)


@check("files big binary round trip")
def _():
    d = os.urandom(1 << 16) * (BIG >> 16)
    f = sandbox().files
    f.write("big.bin", d)
    assert_equal(hashlib.sha256(f.read("big.bin", format="bytes")).digest(), hashlib.sha256(d).digest())
    f.remove("big.bin")


@check("files empty file")
def _():
    f = sandbox().files
    f.write("empty", "")
    assert_equal(f.read("empty"), "")
    assert_equal(f.get_info("empty").size, 0)


@check("files write from file object and octet-stream, gzip both ways")
def _():
    f = sandbox().files
    f.write("io.bin", io.BytesIO(b"\x00\xffio"))
    assert_equal(bytes(f.read("io.bin", format="bytes")), b"\x00\xffio")
    f.write("os.bin", b"raw\x00", use_octet_stream=True)
    assert_equal(bytes(f.read("os.bin", format="bytes")), b"raw\x00")
    f.write("gz.txt", "zip " * 1000, gzip=True)
    assert_equal(f.read("gz.txt"), "zip " * 1000)
    assert_equal(f.read("gz.txt", gzip=True), "zip " * 1000)


@check("files write from a generator (chunked upload)")
def _():
    f = sandbox().files
    f.write("gen.bin", (bytes([i]) * 1000 for i in range(50)))
    assert_equal(f.get_info("gen.bin").size, 50000)


@check("write_files several at once")
def _():
    f = sandbox().files
    w = f.write_files([{"path": "m/1.txt", "data": "1"}, {"path": "m/2 ü.txt", "data": b"2"}])
    assert_equal([x.path for x in w], ["/home/user/m/1.txt", "/home/user/m/2 ü.txt"])
    assert_equal(f.read("m/2 ü.txt"), "2")
    assert_equal(f.write_files([]), [])


@check("files with odd names (spaces, unicode, quotes, percent, plus)")
def _():
    f = sandbox().files
    for n in ["a b.txt", "日本.txt", "q'uo\"te.txt", "per%20cent.txt", "p+l&u=s.txt"]:
        f.write("odd/" + n, n)
        assert_equal(f.read("odd/" + n), n)
        assert_equal(f.exists("odd/" + n), True)
    assert_equal(len(f.list("odd")), 5)


@check("files.read missing -> FileNotFoundException")
def _():
    raises(FileNotFound, sandbox().files.read, "nope.txt")
    raises(FileNotFound, sandbox().files.read, "nope.txt", format="stream")


@check("files.read of a directory -> InvalidArgumentException; write onto a directory -> InvalidArgumentException")
def _():
    raises(InvalidArgumentException, sandbox().files.read, "/home/user")
    raises(InvalidArgumentException, sandbox().files.write, "/home/user", "x")


@check("files.list entries, type, depth, relative path")
def _():
    f = sandbox().files
    f.write("ls/d1/d2/x.txt", "x")
    f.write("ls/y.txt", "yy")
    l = {e.name: e for e in f.list("/home/user/ls")}
    assert_equal(sorted(l), ["d1", "y.txt"])
    assert_equal(l["d1"].type.value, "dir")
    assert_equal(l["y.txt"].type.value, "file")
    assert_equal(l["y.txt"].path, "/home/user/ls/y.txt")
    assert_equal(l["y.txt"].size, 2)
    assert_equal(
        sorted(e.path for e in f.list("ls", depth=3)),
        ["/home/user/ls/d1", "/home/user/ls/d1/d2", "/home/user/ls/d1/d2/x.txt", "/home/user/ls/y.txt"],
    )
    raises(InvalidArgumentException, f.list, "ls", depth=0)


@check("files.list missing -> FileNotFoundException, of a file -> InvalidArgumentException")
def _():
    sandbox().files.write("plain", "p")
    raises(FileNotFound, sandbox().files.list, "no/dir")
    raises(InvalidArgumentException, sandbox().files.list, "plain")


@check("files.list / shows the root, home and tmp")
def _():
    n = [e.name for e in sandbox().files.list("/")]
    assert "home" in n and "tmp" in n, n


@check("files.exists true/false for file and dir")
def _():
    f = sandbox().files
    f.write("ex.txt", "1")
    assert_equal(f.exists("ex.txt"), True)
    assert_equal(f.exists("/home/user"), True)
    assert_equal(f.exists("ex2.txt"), False)


@check("files.get_info fields")
def _():
    f = sandbox().files
    f.write("inf/i.txt", "12345")
    i = f.get_info("inf/i.txt")
    assert_equal((i.name, i.path, i.size, i.type.value), ("i.txt", "/home/user/inf/i.txt", 5, "file"))
    assert (
        i.permissions
        and i.mode
        and i.owner is not None
        and abs((datetime.datetime.now(datetime.timezone.utc) - i.modified_time).total_seconds()) < 300
    )
    assert_equal(f.get_info("inf").type.value, "dir")
    raises(FileNotFound, f.get_info, "inf/none")


@check("files.make_dir True, again False, nested; over a file -> InvalidArgumentException")
def _():
    f = sandbox().files
    n = f"mk{time.time_ns()}"
    assert_equal(f.make_dir(n + "/a/b"), True)
    assert_equal(f.make_dir(n + "/a/b"), False)
    assert_equal(f.get_info(n + "/a").type.value, "dir")
    f.write(n + "/f", "")
    raises(InvalidArgumentException, f.make_dir, n + "/f")


@check("files.rename returns the new entry; missing source -> FileNotFoundException; creates parents")
def _():
    f = sandbox().files
    f.write("r1.txt", "r")
    e = f.rename("r1.txt", "rdir/r2.txt")
    assert_equal((e.name, e.path), ("r2.txt", "/home/user/rdir/r2.txt"))
    assert_equal(f.exists("r1.txt"), False)
    assert_equal(f.read("rdir/r2.txt"), "r")
    raises(FileNotFound, f.rename, "none.txt", "x.txt")


@check("files.remove file, tree, and missing path (no error)")
def _():
    f = sandbox().files
    f.write("rm/a/b.txt", "1")
    f.remove("rm/a/b.txt")
    assert_equal(f.exists("rm/a/b.txt"), False)
    f.write("rm/a/c", "")
    f.remove("rm")
    assert_equal(f.exists("rm"), False)
    f.remove("never/was")


@check("files overwrite truncates")
def _():
    f = sandbox().files
    f.write("ow", "long content")
    f.write("ow", "s")
    assert_equal(f.read("ow"), "s")


@check("file metadata headers round trip and are replaced by the next write")
def _():
    f = sandbox().files
    w = f.write("md.txt", "x", metadata={"Origin": "conf"})
    assert_equal(w.metadata, {"origin": "conf"})
    assert_equal(f.get_info("md.txt").metadata, {"origin": "conf"})
    f.write("md.txt", "y")
    assert_equal(f.get_info("md.txt").metadata, None)


@check("files API and run_code see the same files (both directions, absolute and relative)")
def _():
    s = sandbox()
    s.files.write("x/in.csv", "a,b\n1,2\n")
    assert_equal(
        out(s.run_code("print(open('/home/user/x/in.csv').read(), end='')\nprint(open('x/in.csv').read(), end='')")), "a,b\n1,2\n" * 2
    )
    s.run_code("open('/home/user/out.bin','wb').write(bytes([0,255]))\nopen('/tmp/t.txt','w').write('T')")
    assert_equal(bytes(s.files.read("out.bin", format="bytes")), b"\x00\xff")
    assert_equal(s.files.read("/tmp/t.txt"), "T")


@check("modules written through files are importable in code")
def _():
    sandbox().files.write("confmod.py", "def hi(): return 'mod'")
    assert_equal(sandbox().run_code("import confmod\nconfmod.hi()").text, "mod")


@check("download_url works without headers; tampered signature -> 401")
def _():
    s = sandbox()
    s.files.write("dl.txt", "download me")
    u = s.download_url("dl.txt", use_signature_expiration=60) if s._envd_access_token else s.download_url("dl.txt")
    assert_equal(urllib.request.urlopen(u, timeout=10).read(), b"download me")
    if s._envd_access_token:
        try:
            urllib.request.urlopen(u.replace("signature=v1_", "signature=v1_A"), timeout=10)
            raise AssertionError("accepted a bad signature")
        except urllib.error.HTTPError as e:
            assert e.code in (401, 403), e.code


@check("upload_url accepts multipart without headers")
def _():
    s = sandbox()
    u = s.upload_url("up.txt")
    b = b'--B\r\nContent-Disposition: form-data; name="file"; filename="up.txt"\r\n\r\nuploaded\r\n--B--\r\n'
    assert_equal(
        urllib.request.urlopen(
            urllib.request.Request(u, data=b, headers={"Content-Type": "multipart/form-data; boundary=B"}), timeout=10
        ).status,
        200,
    )
    assert_equal(s.files.read("up.txt"), "uploaded")


@check("wrong access token is refused")
def _():
    s = sandbox()
    if not s._envd_access_token:
        return
    r = urllib.request.Request(
        s.envd_api_url + "/files?path=dl.txt",
        headers={"E2b-Sandbox-Id": s.sandbox_id, "E2b-Sandbox-Port": "49983", "X-Access-Token": "wrong"},
    )
    try:
        urllib.request.urlopen(r, timeout=10)
        raise AssertionError("accepted")
    except urllib.error.HTTPError as e:
        assert e.code in (401, 403), e.code


@check("watch_dir (polling) reports create/write/remove", "watch")
def _():
    f = sandbox().files
    f.make_dir("wd")
    w = f.watch_dir("wd")
    f.write("wd/n.txt", "1")
    time.sleep(0.6)
    f.remove("wd/n.txt")
    time.sleep(0.6)
    ev = [(e.name, e.type.value) for e in w.get_new_events()]
    assert ("n.txt", "create") in ev and ("n.txt", "remove") in ev, ev
    w.stop()
    raises(SandboxException, w.get_new_events)


@check("watch_dir on a missing directory -> FileNotFoundException", "watch")
def _():
    raises(NotFoundException, sandbox().files.watch_dir, "no-dir-here")


# ------------------------------------------------------------------ commands
@check("commands.run echo hi", "shell")
def _():
    r = sandbox().commands.run("echo hi")
    assert_equal((r.stdout, r.stderr, r.exit_code, r.error), ("hi\n", "", 0, None))


@check("commands.run python3 file.py", "shell")
def _():
    s = sandbox()
    s.files.write("prog.py", "import sys\nprint('prog', sys.argv[1:])\nprint('e', file=sys.stderr)")
    r = s.commands.run("python3 prog.py a 'b c'")
    assert_equal(r.stdout, "prog ['a', 'b c']\n")
    assert_equal(r.stderr, "e\n")


@check("commands.run python3 -c", "shell")
def _():
    assert_equal(sandbox().commands.run('python3 -c "print(6*7)"').stdout, "42\n")


@check("commands.run nonzero exit -> CommandExitException with outputs", "shell")
def _():
    e = raises(CommandExitException, sandbox().commands.run, "python3 -c \"import sys; print('o'); sys.stderr.write('E'); sys.exit(3)\"")
    assert_equal((e.exit_code, e.stdout, e.stderr), (3, "o\n", "E"))


@check("commands.run unknown program -> exit code 127", "shell")
def _():
    assert_equal(raises(CommandExitException, sandbox().commands.run, "no_such_program_xyz").exit_code, 127)


@check("commands.run ls and cat see the files API's files", "shell")
def _():
    s = sandbox()
    s.files.write("cdir/one.txt", "1")
    assert_equal(s.commands.run("ls cdir").stdout, "one.txt\n")
    assert_equal(s.commands.run("cat cdir/one.txt").stdout, "1")


@check("commands.run cwd and envs", "shell")
def _():
    s = sandbox()
    s.files.make_dir("cwd1")
    assert_equal(s.commands.run("pwd", cwd="/home/user/cwd1").stdout, "/home/user/cwd1\n")
    assert_equal(
        s.commands.run("python3 -c \"import os; print(os.environ['AA'], os.environ['CONF_GLOBAL'])\"", envs={"AA": "x y"}).stdout,
        "x y g1\n",
    )
    raises(SandboxException, s.commands.run, "pwd", cwd="/no/such/dir")


@check("commands.run && || ; and redirect", "shell")
def _():
    assert_equal(sandbox().commands.run("echo a && echo b; false || echo c > rd.txt; cat rd.txt").stdout, "a\nb\nc\n")


@check("commands.run pipe and heredoc", "shell")
def _():
    assert_equal(sandbox().commands.run("printf 'b\\na\\n' | sort").stdout, "a\nb\n")
    assert_equal(sandbox().commands.run("python3 - <<'EOF'\nprint('from heredoc')\nEOF").stdout, "from heredoc\n")


@check("commands.run streaming callbacks", "shell")
def _():
    o, e = [], []
    sandbox().commands.run(
        "python3 -u -c \"import sys,time\nprint(1); time.sleep(0.3); print(2); sys.stderr.write('x')\"",
        on_stdout=o.append,
        on_stderr=e.append,
    )
    assert_equal("".join(o), "1\n2\n")
    assert_equal("".join(e), "x")
    assert len(o) >= 2, o


@check("commands.run unicode and big output", "shell")
def _():
    assert_equal(sandbox().commands.run("python3 -c \"print('é日🐍')\"").stdout, "é日🐍\n")
    assert_equal(len(sandbox().commands.run(f"python3 -c \"print('x'*{BIG >> 2})\"").stdout), (BIG >> 2) + 1)


@check("commands.run timeout -> TimeoutException", "shell", "slow")
def _():
    t = time.time()
    raises(TimeoutException, sandbox().commands.run, "python3 -c 'import time; time.sleep(30)'", timeout=1.5)
    assert time.time() - t < 6


@check("commands.run background: pid, wait, kill", "shell")
def _():
    c = sandbox().commands
    h = c.run("python3 -c 'print(5)'", background=True)
    assert h.pid > 0
    assert_equal(h.wait().stdout, "5\n")
    h = c.run("python3 -c 'import time; time.sleep(60)'", background=True)
    assert_equal(h.kill(), True)
    e = raises(CommandExitException, h.wait)
    assert e.exit_code != 0
    assert_equal(c.kill(h.pid), False)


@check("commands.list shows a running command; connect to it", "shell")
def _():
    c = sandbox().commands
    h = c.run('python3 -u -c "import time\nfor i in range(30): print(i); time.sleep(0.1)"', background=True)
    p = [x for x in c.list() if x.pid == h.pid]
    assert p and p[0].cmd and p[0].args[-1].startswith("python3"), p
    h2 = c.connect(h.pid)
    r = h2.wait()
    assert_equal(r.exit_code, 0)
    assert r.stdout.endswith("29\n")
    assert not [x for x in c.list() if x.pid == h.pid]


@check("commands.connect to unknown pid -> NotFoundException", "shell")
def _():
    raises(NotFoundException, sandbox().commands.connect, 999999)


@check("commands stdin: send_stdin and close_stdin", "shell")
def _():
    c = sandbox().commands
    h = c.run('python3 -c "import sys; print(sys.stdin.read().upper())"', background=True, stdin=True)
    c.send_stdin(h.pid, "abc ")
    h.send_stdin("déf")
    h.close_stdin()
    assert_equal(h.wait().stdout, "ABC DÉF\n")


@check("commands stream_input (client stream)", "shell")
def _():
    c = sandbox().commands
    h = c.run("cat", background=True, stdin=True)
    c.stream_input(h.pid, ["one ", b"two"])
    c.close_stdin(h.pid)
    assert_equal(h.wait().stdout, "one two")


@check("command keeps running after disconnect", "shell")
def _():
    s = sandbox()
    h = s.commands.run("python3 -c \"import time; time.sleep(1); open('after.txt','w').write('1')\"", background=True)
    h.disconnect()
    time.sleep(2.5)
    assert_equal(s.files.exists("after.txt"), True)


@check("pty create, input, resize, exit", "pty")
def _():
    p = sandbox().pty
    got = bytearray()
    h = p.create(
        e2b.PtySize(rows=24, cols=80)
        if hasattr(e2b, "PtySize")
        else __import__("e2b.sandbox.commands.command_handle", fromlist=["x"]).PtySize(24, 80)
    )
    p.resize(h.pid, type("Z", (), {"rows": 30, "cols": 100})())
    p.send_stdin(h.pid, b"echo pt$((1+1))y; exit 0\n")
    h.wait(on_pty=got.extend)
    assert b"pt2y" in got, bytes(got)


# ------------------------------------------------------------------ async SDK
def acheck(name, *groups):
    def deco(f):
        CHECKS.append((name, set(groups) | {"async"}, lambda: asyncio.run(f())))
        return f

    return deco


async def acreate(**kw):
    if TEMPLATE:
        kw.setdefault("template", TEMPLATE)
    s = await AsyncSandbox.create(**kw)
    made.append(s.sandbox_id)
    return s


@acheck("async: create, run_code with async callbacks, info, kill")
async def _():
    s = await acreate(timeout=60)
    got = []

    async def cb(m):
        got.append(m.line)

    e = await s.run_code("print('a')\n1+1", on_stdout=cb)
    assert_equal((e.text, got), ("2", ["a\n"]))
    assert_equal((await s.get_info()).sandbox_id, s.sandbox_id)
    assert_equal(await s.is_running(), True)
    assert_equal(await s.kill(), True)
    assert_equal(await s.is_running(), False)


@acheck("async: contexts create/list/restart/remove")
async def _():
    s = await acreate(timeout=60)
    c = await s.create_code_context()
    await s.run_code("q=1", context=c)
    await s.restart_code_context(c)
    assert_equal((await s.run_code("q", context=c)).error.name, "NameError")
    assert c.id in [x.id for x in await s.list_code_contexts()]
    await s.remove_code_context(c)
    try:
        await s.run_code("1", context=c)
        raise AssertionError
    except NotFoundException:
        pass
    await s.kill()


@acheck("async: files write/read/list/exists/rename/remove")
async def _():
    s = await acreate(timeout=60)
    f = s.files
    await f.write("a.bin", b"\x00\x01")
    assert_equal(bytes(await f.read("a.bin", format="bytes")), b"\x00\x01")
    await f.rename("a.bin", "b.bin")
    assert_equal([e.name for e in await f.list("/home/user") if e.name.endswith("bin")], ["b.bin"])
    await f.remove("b.bin")
    assert_equal(await f.exists("b.bin"), False)
    try:
        await f.read("zz")
        raise AssertionError
    except FileNotFound:
        pass
    assert_equal(b"".join([c async for c in await f.read((await f.write("s", "stream")).path, format="stream")]), b"stream")
    await s.kill()


@acheck("async: concurrent cells in several sandboxes overlap")
async def _():
    ss = await asyncio.gather(*[acreate(timeout=60) for _ in range(3)])
    await asyncio.gather(*[s.run_code("1") for s in ss])
    t = time.time()
    r = await asyncio.gather(*[s.run_code("import time\ntime.sleep(1)\n1") for s in ss])
    assert_equal([e.text for e in r], ["1"] * 3)
    assert time.time() - t < 2.6, time.time() - t
    await asyncio.gather(*[s.kill() for s in ss])


@acheck("async: run_code timeout -> TimeoutException", "slow")
async def _():
    s = await acreate(timeout=60)
    try:
        await s.run_code("import time\ntime.sleep(20)", timeout=1.5)
        raise AssertionError("no timeout")
    except TimeoutException:
        pass
    await s.kill()


@acheck("async: commands.run", "shell")
async def _():
    s = await acreate(timeout=60)
    o = []
    r = await s.commands.run("echo hi", on_stdout=o.append)
    assert_equal((r.stdout, "".join(o)), ("hi\n", "hi\n"))
    try:
        await s.commands.run("exit 4")
        raise AssertionError
    except CommandExitException as e:
        assert_equal(e.exit_code, 4)
    await s.kill()


@acheck("async: watch_dir stream (WatchDir RPC)", "watch")
async def _():
    s = await acreate(timeout=60)
    ev = []
    await s.files.make_dir("w")
    h = await s.files.watch_dir("w", on_event=lambda e: ev.append((e.name, e.type.value)))
    await asyncio.sleep(0.3)
    await s.files.write("w/a", "1")
    await asyncio.sleep(1)
    await h.stop()
    assert ("a", "create") in ev, ev
    await s.kill()


@acheck("async: list pagination")
async def _():
    a = [await acreate(timeout=60, metadata={"grp": RUN + "a"}) for _ in range(3)]
    p = AsyncSandbox.list(query=SandboxQuery(metadata={"grp": RUN + "a"}), limit=2)
    n = []
    while p.has_next:
        n += await p.next_items()
    assert_equal(len(n), 3)
    [await s.kill() for s in a]


# ------------------------------------------------------------------ raw HTTP (details the newest SDK does not exercise, older SDKs and JS do)
def raw(method, url, headers=None, body=None):
    try:
        r = urllib.request.urlopen(urllib.request.Request(url, data=body, method=method, headers=headers or {}), timeout=20)
        return r.status, r.read(), r.headers
    except urllib.error.HTTPError as e:
        return e.code, e.read(), e.headers


def ids(s):
    return {
        "E2b-Sandbox-Id": s.sandbox_id,
        "E2b-Sandbox-Port": "49999",
        **({"X-Access-Token": s._envd_access_token} if s._envd_access_token else {}),
    }


KEY = {"X-API-KEY": os.environ.get("E2B_API_KEY", "")}


@check("raw: control-plane path wins over sandbox headers (SDK 2.9-era sends both)", "raw")
def _():
    s = sandbox()
    import json

    st, b, _h = raw("GET", os.environ["E2B_API_URL"] + "/sandboxes/" + s.sandbox_id, {**KEY, **ids(s)})
    assert_equal(st, 200)
    assert_equal(json.loads(b)["sandboxID"], s.sandbox_id)


@check("raw: v1 create, v1 connect, v1 list still work", "raw")
def _():
    import json

    J = {**KEY, "Content-Type": "application/json"}
    u = os.environ["E2B_API_URL"]
    st, b, _h = raw("POST", u + "/sandboxes", J, json.dumps({"templateID": TEMPLATE or "code-interpreter-v1", "timeout": 60}).encode())
    assert_equal(st, 201)
    i = json.loads(b)["sandboxID"]
    made.append(i)
    st, b, _h = raw("POST", u + f"/sandboxes/{i}/connect", J, b'{"timeout": 60}')
    assert st in (200, 201), st
    st, b, _h = raw("GET", u + "/sandboxes", KEY)
    assert i in [x["sandboxID"] for x in json.loads(b)]
    Sandbox.kill(i)


@check("raw: create answers a domain (else half-configured SDKs talk to the public cloud)", "raw")
def _():
    import json

    st, b, _h = raw(
        "POST",
        os.environ["E2B_API_URL"] + "/v2/sandboxes",
        {**KEY, "Content-Type": "application/json"},
        json.dumps({"templateID": TEMPLATE or "code-interpreter-v1", "timeout": 60}).encode(),
    )
    d = json.loads(b)
    made.append(d["sandboxID"])
    assert d.get("domain"), d


@check("raw: control-plane errors are JSON with int code and message", "raw")
def _():
    import json

    u = os.environ["E2B_API_URL"]
    for st, b, _h in (
        raw("GET", u + "/sandboxes/iunknown0000000000000", KEY),
        raw("GET", u + "/v2/sandboxes"),
        raw("POST", u + "/v2/sandboxes", {**KEY, "Content-Type": "application/json"}, b'{"templateID":"no-such-tpl"}'),
        raw("GET", u + "/no/such/route", KEY),
    ):
        assert st >= 400
        j = json.loads(b)
        assert isinstance(j["code"], int) and isinstance(j["message"], str), b


@check("logs tell what was done with a sandbox, and not what ran in it")
def _():
    from e2b.api.client.api.sandboxes import get_sandboxes_sandbox_id_logs, get_v_2_sandboxes_sandbox_id_logs
    from e2b.api.client.models import LogLevel, LogsDirection
    from e2b.api.client_sync import get_api_client
    from e2b.connection_config import ConnectionConfig

    client = get_api_client(ConnectionConfig())
    s = create(timeout=120)
    s.commands.run("echo hidden")
    raises(CommandExitException, s.commands.run, "echo hidden; exit 3")
    s.run_code("hidden = 1")
    s.kill()
    found = get_v_2_sandboxes_sandbox_id_logs.sync(s.sandbox_id, client=client).logs
    messages = [entry.message for entry in found]
    assert messages[0] == "sandbox created" and messages[-1] == "sandbox ended", messages
    assert sum(message.endswith("exit code 3") for message in messages) == 1, messages
    assert not any("hidden" in str(entry.to_dict()) for entry in found)
    newest = get_v_2_sandboxes_sandbox_id_logs.sync(
        s.sandbox_id, client=client, limit=1, direction=LogsDirection.BACKWARD, level=LogLevel.INFO, search="sandbox"
    )
    assert_equal([entry.message for entry in newest.logs], ["sandbox ended"])
    old = get_sandboxes_sandbox_id_logs.sync(s.sandbox_id, client=client)
    assert_equal([entry.message for entry in old.log_entries], messages)
    assert_equal(len(old.logs), len(messages))


@check("raw: /execute lines are pure ASCII JSON objects, none blank", "raw")
def _():
    import json

    s = sandbox()
    st, b, _h = raw(
        "POST",
        s.connection_config.get_sandbox_url(s.sandbox_id, s.sandbox_domain, port=49999) + "/execute",
        {**ids(s), "Content-Type": "application/json"},
        json.dumps({"code": "print('h\u00e9 \u2028 \U0001f40d')\n1"}).encode(),
    )
    assert_equal(st, 200)
    b.decode("ascii")
    ls = b.rstrip(b"\n").split(b"\n")
    assert all("type" in json.loads(l) for l in ls)
    assert_equal(json.loads(ls[0])["type"], "number_of_executions")


@check("raw: chunked request body accepted (JS sends create that way)", "raw")
def _():
    import http.client, json, urllib.parse as up

    u = up.urlsplit(os.environ["E2B_API_URL"])
    c = http.client.HTTPConnection(u.netloc, timeout=20) if u.scheme == "http" else http.client.HTTPSConnection(u.netloc, timeout=20)
    c.request(
        "POST",
        u.path.rstrip("/") + "/v2/sandboxes",
        body=iter([json.dumps({"templateID": TEMPLATE or "code-interpreter-v1"}).encode(), b" "]),
        headers={**KEY, "Content-Type": "application/json"},
        encode_chunked=True,
    )
    r = c.getresponse()
    assert_equal(r.status, 201)
    i = json.loads(r.read())["sandboxID"]
    made.append(i)
    assert_equal(Sandbox.kill(i), True)


@check("templates: files, variables, user, directory and start command of a build are there in its sandboxes", "template")
def _():
    import tempfile
    from e2b import Template, wait_for_timeout

    name, log = f"conf-{uuid.uuid4().hex[:8]}", []
    with tempfile.TemporaryDirectory() as context:
        os.makedirs(f"{context}/d/sub")
        for path, text in (("d/a.txt", "a"), ("d/sub/b.txt", "b"), ("one.txt", "1")):
            with open(f"{context}/{path}", "w") as file:
                file.write(text)
        os.symlink("a.txt", f"{context}/d/link")
        template = (
            Template(file_context_path=context)
            .from_base_image()
            .copy("d/*", "pattern")
            .copy("d", "/opt/whole", user="root", mode=0o700)
            .copy("one.txt", "x/y/renamed.txt")
            .copy(["one.txt", "d/a.txt"], "several/")
            .set_envs({"GREETING": "hi there"})
            .set_workdir("/app")
            .run_cmd('echo "$GREETING" > said; pip install numpy')
            .run_cmd("touch /app/of_root", user="root")
            .make_symlink("said", "link")
            .set_start_cmd("echo started > /tmp/started; sleep 100", wait_for_timeout(1000))
        )
        Template.build(template, name, tags=["default", "v1"], on_build_logs=lambda entry: log.append(entry.message))
    assert any("RUN touch" in message for message in log), log
    assert_equal(Template.exists(name), True)
    for template in (name, f"{name}:v1"):
        with Sandbox.create(template) as s:
            script = """cd; sudo find pattern several x /opt/whole | sort; readlink pattern/link; sudo stat -c '%U %a' /opt/whole/a.txt pattern/a.txt
                cd - > /dev/null; pwd; echo "$GREETING"; cat said link; stat -c %U said of_root; cat /tmp/started"""
            said = s.commands.run(script, timeout=20)
            expected = """/opt/whole /opt/whole/a.txt /opt/whole/link /opt/whole/sub /opt/whole/sub/b.txt pattern pattern/a.txt
                pattern/link pattern/sub pattern/sub/b.txt several several/a.txt several/one.txt x x/y x/y/renamed.txt a.txt"""
            lines = said.stdout.splitlines()
            assert_equal(lines[:17], expected.split())
            assert_equal(lines[17:19], ["root 700", "user 644"])
            assert_equal(lines[19:], ["/app", "hi there", "hi there", "hi there", "user", "root", "started"])
            assert_equal(s.run_code("import os; os.environ['GREETING']").text, "hi there")


@check("templates: a build from another one has its state; envVars of a sandbox come on top", "template")
def _():
    from e2b import Template

    name = f"conf-{uuid.uuid4().hex[:8]}"
    Template.build(Template().from_base_image().set_envs({"A": "1", "B": "1"}).run_cmd("echo x > f"), name)
    Template.build(Template().from_template(name).set_envs({"B": "2"}).run_cmd("cat f && echo $A > g"), f"{name}-child")
    with Sandbox.create(f"{name}-child", envs={"A": "3"}) as s:
        assert_equal(s.commands.run("cat f g; echo $A $B").stdout, "x\n1\n3 2\n")


@check("templates: a step that fails is told at its line, with its output", "template")
def _():
    from e2b import Template
    from e2b.exceptions import BuildException

    template = Template().from_base_image().run_cmd("echo fine").run_cmd("cat nothing_here")
    line = sys._getframe().f_lineno - 1
    try:
        Template.build(template, f"conf-{uuid.uuid4().hex[:8]}")
    except BuildException as error:
        assert "nothing_here: No such file" in str(error), error
        last = traceback.extract_tb(error.__traceback__)[-1]
        assert_equal((os.path.basename(last.filename), last.lineno), ("conformance.py", line))
    else:
        raise AssertionError("it was built")


@check("templates: tags are given, listed and taken; a tag moves with the next build", "template")
def _():
    from e2b import Template
    from e2b.exceptions import TemplateException

    name = f"conf-{uuid.uuid4().hex[:8]}"
    first = Template.build(Template().from_base_image().run_cmd("echo 1 > n"), f"{name}:v1")
    Template.assign_tags(f"{name}:v1", ["latest", "stable"])
    second = Template.build(Template().from_base_image().run_cmd("echo 2 > n"), f"{name}:latest")
    tags = {tag.tag: tag.build_id for tag in Template.get_tags(name)}
    assert_equal(tags, {"v1": first.build_id, "stable": first.build_id, "latest": second.build_id})
    Template.remove_tags(name, "stable")
    assert_equal(sorted(tag.tag for tag in Template.get_tags(name)), ["latest", "v1"])
    with Sandbox.create(f"{name}:latest") as s:
        assert_equal(s.files.read("n"), "2\n")
    for wrong in (lambda: Template.assign_tags(f"{name}:none", "x"), lambda: Template.get_tags(f"{name}-none")):
        try:
            wrong()
        except TemplateException:
            continue
        raise AssertionError("there is no such template")


def main():
    for v in ("E2B_API_URL", "E2B_SANDBOX_URL", "E2B_API_KEY"):
        if not os.environ.get(v):
            sys.exit(f"{v} is not set")
    from importlib.metadata import version

    print(f"# e2b {version('e2b')}, e2b-code-interpreter {version('e2b-code-interpreter')}, target {os.environ['E2B_API_URL']}", flush=True)
    ok = bad = left = 0
    t0 = time.time()
    for name, groups, f in CHECKS:
        if groups & SKIP or (sys.argv[1:] and not any(w in name for w in sys.argv[1:])):
            left += 1
            continue
        t = time.time()
        try:
            f()
            ok += 1
            print(f"ok {name}" + (f"  ({time.time() - t:.1f}s)" if time.time() - t > 1 else ""), flush=True)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                break
            bad += 1
            print(f"FAIL {name}  {type(e).__name__}: {str(e)[:300]}", flush=True)
            if os.environ.get("CONF_TRACE"):
                traceback.print_exc()
    for i in set(made):
        try:
            Sandbox.kill(i)
        except Exception:
            pass
    if left:
        print(f"# {left} left out by CONF_SKIP or filter")
    print(f"# {time.time() - t0:.1f}s")
    print(f"{ok} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
