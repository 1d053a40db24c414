import pathlib
import sys
import unittest

import native
from _proofbox_kind_evaluator import Evaluator

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "runtimes/python-3.13/evaluators"


def grade(source, code="", **request):
    """The evaluation, and status and message of the case."""
    cases, _ = native.grade(Evaluator, {"source": source, **request}, code)
    ((_, status, message),) = cases.results
    evaluations = [post[1] for post in native.posts if post[0] == "evaluation"]
    return (evaluations[0] if evaluations else None), status, message


def score(source, **request):
    evaluation, status, message = grade(source, **request)
    return (evaluation["score"], evaluation["passed"], evaluation["reason"]) if evaluation else (status, message)


def preset(name, **request):
    evaluation, status, message = grade((PRESETS / f"{name}.py").read_text(), **request)
    return evaluation["passed"] if evaluation else message


class Kind(unittest.TestCase):
    maxDiff = None

    def test_each_interface_gets_its_arguments(self):
        given = {
            "inputs": {"q": 1, "correct_answer": 7}, "outputs": "o", "trace": {"spans": []}, "testcase": {"id": 3},
            "app_params": {"p": 2}, "context": {"vars": {}},
        }  # fmt: skip
        for interface, source in {
            "v1": "def evaluate(app_params, inputs, output, correct_answer): return app_params['p'] + inputs['q'] == 3 and output == 'o' and correct_answer == 7",
            "v2": "def evaluate(inputs, outputs, trace): return inputs['q'] == 1 and outputs == 'o' and trace == {'spans': []}",
            "testcase": "def evaluate(testcase, inputs, outputs, trace): return testcase['id'] == 3 and outputs == 'o'",
            "get_assert": "def get_assert(output, context): return output == 'o' and context == {'vars': {}}",
        }.items():
            for asked in ("auto", interface):
                evaluation, status, message = grade(source, interface=asked, **given)
                self.assertEqual((status, message, evaluation["interface"]), ("passed", None, interface))
        self.assertEqual(grade("def evaluate(a, b, c, d): return d == 7", **given)[0]["interface"], "v1")
        self.assertEqual(grade("def evaluate(a, b, c): return b == 'o'", interface="v3", **given)[1], "passed")
        self.assertEqual(grade("def evaluate(outputs): return outputs == 'o'", **given)[1], "passed")
        self.assertEqual(grade("def evaluate(**all): return all['outputs'] == 'o'", **given)[1], "passed")
        self.assertEqual(grade("async def evaluate(inputs, outputs, trace): return outputs == 'o'", **given)[1], "passed")

    def test_promptfoo_expressions_and_bodies(self):
        self.assertEqual(score("output[5:10] == 'Hello'", output="12345Hello"), (1.0, True, None))
        self.assertEqual(score("math.log10(len(output)) * 10", output="1234567890"), (10.0, True, None))
        self.assertEqual(score("if output == 'x':\n  return {'pass': True, 'score': 0.5}\nreturn False", output="x"), (0.5, True, None))
        self.assertEqual(score("context['vars']['topic'] in output", output="a b", inputs={"topic": "b"}), (1.0, True, None))

    def test_numbers_pass_at_the_threshold(self):
        v2 = "def evaluate(inputs, outputs, trace): return outputs"
        self.assertEqual(score(v2, outputs=0.5), (0.5, True, None))
        self.assertEqual(score(v2, outputs=0.4), (0.4, False, "the score 0.4 is below the threshold 0.5"))
        self.assertEqual(score(v2, outputs=0.4, threshold=0.3), (0.4, True, None))
        self.assertEqual(score(v2, outputs=1), (1.0, True, None))
        self.assertEqual(score("output", output=0.1), (0.1, True, None))
        self.assertEqual(score("output", output=0), (0.0, False, "the score is 0"))
        self.assertEqual(score("output", output=0.1, threshold=0.2), (0.1, False, "the score 0.1 is below the threshold 0.2"))
        self.assertEqual(score("'0.9'", output=""), (0.9, True, None))
        self.assertEqual(score("'True'", output=""), (1.0, True, None))

    def test_results_with_fields(self):
        v2 = "def evaluate(inputs, outputs, trace): return outputs"
        self.assertEqual(score(v2, outputs={"score": 0.2, "success": True}), (0.2, True, None))
        self.assertEqual(score(v2, outputs={"pass": False, "reason": "no"}), (0.0, False, "no"))
        self.assertEqual(score(v2, outputs={"score": 0.7}), (0.7, True, None))
        self.assertEqual(
            score(v2, outputs={"score": 0.2, "pass_": True, "reason": "fine"}, threshold=0.5),
            (0.2, False, "the score 0.2 is below the threshold 0.5: fine"),
        )
        evaluation, _, _ = grade(
            "from dataclasses import dataclass\n"
            "from typing import Optional\n"
            "@dataclass\n"
            "class GradingResult:\n"
            "    pass_: bool\n    score: float\n    reason: str\n    component_results: Optional[list] = None\n    named_scores: Optional[dict] = None\n"
            "def get_assert(output, context):\n"
            "    return GradingResult(True, 0.75, 'ok', [GradingResult(False, 0.5, 'part'), {'pass': True, 'score': 1}], {'tone': 0.4})\n",
            output="x",
        )
        self.assertEqual(
            evaluation,
            {
                "interface": "get_assert", "score": 0.75, "passed": True, "reason": "ok", "named_scores": {"tone": 0.4},
                "component_results": [
                    {"score": 0.5, "passed": False, "reason": "part", "named_scores": {}, "component_results": []},
                    {"score": 1.0, "passed": True, "reason": None, "named_scores": {}, "component_results": []},
                ],
            },
        )  # fmt: skip
        evaluation, _, _ = grade(v2, outputs={"score": 1, "relevance": 0.9, "namedScores": {"a": True}, "note": "x"})
        self.assertEqual(evaluation["named_scores"], {"a": 1.0, "relevance": 0.9})

    def test_anything_else_is_an_error_that_says_what_came(self):
        for value, message in {
            "None": "an evaluator returns a bool, a number or a result, and this one returned None",
            "'yes'": "an evaluator returns a bool, a number or a result, and this one returned 'yes'",
            "[1]": "an evaluator returns a bool, a number or a result, and this one returned an object of type list",
            "float('nan')": "the score is a finite number, and this is nan",
            "10 ** 400": "the score is a finite number, and this is inf",
            "{'success': 1}": "'success' of the result is True or False, and this is 1",
            "{'tone': 1, 'reason': 'x'}": "the result has neither 'score' nor 'success', but 'tone', 'reason'",
            "{'score': 'high'}": "the score is a number, and this is 'high'",
        }.items():
            got = grade(f"def evaluate(inputs, outputs, trace): return {value}")
            self.assertEqual(got, (None, "error", f"EvaluatorError: {message}"))
        self.assertEqual(grade("x = 1"), (None, "error", "EvaluatorError: the source defines no function evaluate or get_assert"))
        self.assertEqual(grade("def evaluate(inputs): 1 / 0")[1:], ("error", "ZeroDivisionError: division by zero"))
        self.assertEqual(grade("def evaluate(inputs): exit()\nimport sys\ndef exit(): sys.exit(0)")[1], "error")

    def test_agentas_v3_takes_any_json(self):
        def v3(value, **request):
            source = f"import math\ndef evaluate(inputs, outputs, trace): return {value}"
            evaluation, status, message = grade(source, interface="v3", **request)
            if evaluation is None:
                return message
            self.assertEqual((evaluation["interface"], evaluation["passed"]), ("v3", status == "passed"))
            return tuple(evaluation[name] for name in ("score", "passed", "named_scores", "value"))

        several = {"accuracy": 0.9, "length": 12}
        self.assertEqual(v3(several), (None, True, {"accuracy": 0.9, "length": 12.0}, several))
        self.assertEqual(v3([1, 2]), (None, True, {}, [1, 2]))
        self.assertEqual(v3("'good'"), (None, True, {}, "good"))
        labelled = {"score": 0.4, "label": "bad", "meta": {"tokens": [1, None, True]}}
        self.assertEqual(v3(labelled), (0.4, False, {}, labelled))
        self.assertEqual(v3(labelled, threshold=0.4), (0.4, True, {}, labelled))
        self.assertEqual(v3({"success": False, "label": "x"}), (0.0, False, {}, {"success": False, "label": "x"}))
        self.assertEqual(v3({"success": "yes", "score": "high"})[:2], (None, True))
        self.assertEqual(v3(0.7), (0.7, True, {}, 0.7))
        self.assertEqual(v3(False), (0.0, False, {}, False))
        self.assertEqual(v3((1, {2: "x"})), (None, True, {}, [1, {"2": "x"}]))
        for value, message in {
            "None": "an evaluator returns a value, and this one returned None",
            "math.nan": "the value is a finite number, and this is nan",
            "{'a': [math.inf]}": "the value is a finite number, and this is inf",
            "{'a': {1}}": "a result is a JSON value, and this has an object of type set",
            "{(1,): 2}": "the keys of a result are texts",
            "(x := []).append(x) or x": "a result has at most 100000 values, 100 deep",
            "[[0] * 1000] * 1000": "a result has at most 100000 values, 100 deep",
        }.items():
            self.assertEqual(v3(value), f"EvaluatorError: {message}")
        self.assertEqual(v3("'good'", threshold=0.5), "EvaluatorError: there is a threshold, and the result has no score")
        code = "class Liar(float):\n    def __ge__(self, other): return True\n"
        use = "import solution\ndef evaluate(inputs, outputs, trace): return {'score': solution.Liar(0)}"
        self.assertEqual(grade(use, code, interface="v3")[1], "error")

    def test_scalars_of_numpy_are_what_they_stand_for(self):
        # A real one is in the image: tests/it/kinds.rs.
        source = (
            "import sys, types\n"
            "numpy = sys.modules['numpy'] = types.ModuleType('numpy')\n"
            "class float64(float):\n"
            "    def item(self): return float.__float__(self)\n"
            "class bool_:\n"
            "    def item(self): return True\n"
            "numpy.float64, numpy.bool_ = float64, bool_\n"
            "def evaluate(inputs, outputs, trace): return "
        )
        try:
            for interface in ("v2", "v3"):
                self.assertEqual(score(source + "float64(0.8)", interface=interface), (0.8, True, None))
                evaluation, status, _ = grade(source + "{'score': float64(0.4), 'tone': float64(0.5)}", interface=interface)
                self.assertEqual((evaluation["score"], evaluation["named_scores"], status), (0.4, {"tone": 0.5}, "failed"))
                self.assertEqual(score(source + "{'success': bool_()}", interface=interface), (1.0, True, None))
            self.assertEqual(grade(source + "{'tone': [float64(0.5)]}", interface="v3")[0]["value"], {"tone": [0.5]})
        finally:
            sys.modules.pop("numpy", None)

    def test_only_plain_values_are_believed(self):
        code = "class Liar(float):\n    def __ge__(self, other): return True\nclass Obj:\n    score = 1\n    def __init__(self): self.score = Liar()\n"
        use = "import solution\ndef evaluate(inputs, outputs, trace): return "
        self.assertEqual(grade(use + "solution.Liar(0)", code)[1], "error")
        self.assertEqual(grade(use + "{'score': solution.Liar(0)}", code)[1], "error")
        self.assertEqual(grade(use + "solution.Obj()", code)[1], "error")

    def test_a_candidate_that_died_has_not_passed(self):
        source = "import solution\ndef evaluate(inputs, outputs, trace):\n    try: solution.die()\n    except BaseException: return 1.0\n"
        evaluation, status, message = grade(source)
        self.assertEqual((evaluation, status), (None, "error"))

    def test_presets(self):
        self.assertEqual(preset("exact_match", outputs=" Paris", inputs={"correct_answer": "Paris"}), True)
        self.assertEqual(preset("exact_match", outputs="paris", correct_answer="Paris"), False)
        self.assertEqual(preset("exact_match", outputs="paris", correct_answer="Paris", app_params={"case_sensitive": False}), True)
        self.assertEqual(preset("contains", outputs="abc", correct_answer="b"), True)
        self.assertEqual(preset("contains", outputs="abc", app_params={"substring": ["a", "x"]}), False)
        self.assertIn("name what is to be contained", preset("contains", outputs="abc"))
        self.assertEqual(preset("regex", outputs="abc 12", app_params={"pattern": r"\d+"}), True)
        self.assertEqual(preset("regex", outputs="abc 12", app_params={"pattern": r"\d+", "mode": "match"}), False)
        self.assertEqual(preset("regex", outputs="abc", app_params={"pattern": r"\d+", "should_match": False}), True)
        self.assertEqual(preset("json_equality", outputs='{"b": [1, 2], "a": 1}', correct_answer={"a": 1.0, "b": [1, 2]}), True)
        self.assertEqual(preset("json_equality", outputs='{"a": [2, 1]}', correct_answer='{"a": [1, 2]}'), False)
        self.assertEqual(preset("json_equality", outputs="[2, 1]", correct_answer="[1, 2]", app_params={"unordered_lists": True}), True)
        self.assertEqual(preset("json_equality", outputs="{", correct_answer="{}"), False)
        agenta = {"spans": {"root": {"attributes": {"ag": {"metrics": {"duration": {"cumulative": 1500.0}, "tokens": {"cumulative": {"total": 900}}}}}}}}
        promptfoo = {"traceId": "t", "spans": [{"startTime": 1000, "endTime": 9000, "attributes": {"gen_ai.usage.input_tokens": 600, "gen_ai.usage.output_tokens": 500}}]}
        self.assertEqual(preset("latency_budget", trace=agenta), True)
        self.assertEqual(preset("latency_budget", trace=promptfoo), False)
        self.assertEqual(preset("latency_budget", trace=promptfoo, app_params={"max_seconds": 8}), True)
        self.assertEqual(preset("latency_budget"), False)
        self.assertEqual(preset("token_budget", trace=agenta), True)
        self.assertEqual(preset("token_budget", trace=promptfoo), False)
        self.assertEqual(preset("token_budget", trace={}), False)

    def test_presets_say_what_they_do(self):
        for file in PRESETS.glob("*.py"):
            text = file.read_text()
            self.assertRegex(text, r'\A"""[A-Z].*\.\n\nParameters:\n(    \w+ \(\w.*?, .*\): .+\n)+"""\n')


if __name__ == "__main__":
    unittest.main()
