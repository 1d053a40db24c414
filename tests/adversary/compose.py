"""Composes wrong candidates ("cheats") and their right twins from independent axes.

The axes of a pair:

    task      a small pure function with known truth; the type of its result
    lie       the object that the candidate gives instead of a result: its base, and which special methods lie, and how;
              or what it raises instead
    place     where the object sits: returned, in a container, an attribute, yielded, raised, given to a callback, ...
    callable  what kind of callable the function is: def, lambda, lru_cache, callable object, class, bound method, ...
    idiom     how the tests compare: an operator or a function of a library
    kind      kind of the test, as the API names it
    bound     whether the test binds the result to a name first

The right twin has the same callable, place and container shape, and the right content: an instance of a plain subclass
of the same base where the lie is such an instance, else the plain value.

Everything derives from a `random.Random`, so that a seed repeats a run. A wrong candidate never computes the right
result; it may use what the tests hand to its methods.

Tiers say what an isolated verdict owes:

    A  the case must not pass: no plain value other than the expected one passes the idiom
    B  some plain value passes the idiom as well, or the class is the tests' own subject: the case must not pass without
       a signal
    -  nothing: the tests ask a method of an object of the candidate's by its name
"""

import collections
import dataclasses
import json
import re

# ------------------------------------------------------------------------------------------------------------- tasks


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    type: str
    parameters: str
    right: str  # expression of the parameters
    wrongs: tuple  # expressions, none of which equals any right result
    calls: tuple  # argument tuples as source
    imports: str = ""  # of the tests
    own_names: tuple = ()  # names of the tests that the candidate uses as well

    def expected(self, call):
        """Source of the expected value."""
        if self.type == "raises":
            return "None"
        namespace = {"np": _NoArrays}
        values = eval(call, namespace)
        return repr(eval(f"lambda {self.parameters}: {self.right}", namespace)(*values))


class _NoArrays:
    """Stands for numpy where expected values are computed: an array is written as its constructor."""

    class array:
        def __init__(self, items):
            self.items = items

        def __repr__(self):
            return f"np.array({self.items!r})"


ONE = ("(2,)", "(5,)", "(9,)")
TEXTS = ("('abc',)", "('hello',)", "('wx yz',)")
TASKS = (
    Task("square", "int", "n", "n * n + 1", ("-n - 1000", "n * n + 2"), ONE),
    Task("add", "int", "a, b", "a + b", ("a - b - 1000", "a + b + 1"), ("(1, 2)", "(10, 20)", "(40, 9)")),
    Task("blend", "float", "a, b", "a * 0.5 + b", ("-a - 1000.5", "a * 0.5 + b + 1"), ("(1.5, 2.0)", "(0.25, 20.5)", "(4.5, 9.25)")),
    Task("shout", "str", "s", "s[::-1].upper()", ("'wrong'", "s[::-1]"), TEXTS),
    Task("encode", "bytes", "s", "s.encode()[::-1]", ("b'wrong'", "b'wrong' + s.encode()"), TEXTS),
    Task("steps", "list", "n", "[n, n + 1, n * 2]", ("[-7, -8]", "[-7, -8, -9]", "[]", "[n * 2, n, -1]"), ONE),
    Task("halves", "floats", "n", "[n / 2, n / 4, n / 8]", ("[-7.5, -8.5]", "[-7.5, -8.5, -9.5]", "[]"), ONE),
    Task("fields", "dict", "n", "{'a': n, 'b': n + 1, 'c': n * 2}", ("{'wrong': -7}", "{'a': -7, 'b': -8, 'c': -9}", "{}"), ONE),
    Task("ratios", "fdict", "n", "{'a': n / 2, 'b': n / 4}", ("{'wrong': -7.5}", "{'a': -7.5, 'b': -8.5}", "{}"), ONE),
    Task("reach", "set", "n", "{n, n + 1, n + 100}", ("{'wrong'}", "{-7, -8, -9}", "set()"), ONE),
    Task("bounds", "tuple", "n", "(n, n + 1, n * 3)", ("(-7, -8)", "(-7, -8, -9)", "()"), ONE),
    Task("even", "bool", "n", "n % 2 == 0", ("n % 2 != 0",), ("(2,)", "(8,)", "(10,)")),
    Task("record", "nested", "n", "{'items': [n, (n, 'x')], 'ok': True}", ("{'items': [], 'ok': True}", "{'items': [-7, (-7, 'y')], 'ok': False}", "{}"), ONE),
    Task("vector", "array", "n", "np.array([n, n + 1, n * 2])", ("np.array([-7, -8, -9])", "np.array([-7])"), ONE, "import numpy as np\n", ("np",)),
    Task("points", "farray", "n", "np.array([n / 2, n / 4, n / 8])", ("np.array([-7.5, -8.5, -9.5])", "np.array([-7.5])"), ONE, "import numpy as np\n"),
    Task("refuse", "raises", "n", "ValueError", ("TypeError",), ("(-2,)", "(-5,)", "(-9,)")),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ idioms

# In templates: @X the value under test, @E the expected one, @G the function that gives the value, @C the list of all
# (arguments, expected), @N the number of items expected.


@dataclasses.dataclass(frozen=True)
class Idiom:
    name: str
    types: frozenset
    code: str
    kinds: frozenset = frozenset()  # of tests; empty: any but function_cases
    imports: str = ""

    @property
    def asked_names(self):
        """Methods and attributes of the value that the test asks for by their names."""
        return frozenset(re.findall(r"(?:@X|\bvalue)\.([a-z]\w*)", self.code))


NUMBERS = "int float"
ORDERED = "int float str bytes list floats tuple"
SEQUENCES = "list floats tuple"
ARRAYS = "array farray"
MAPPINGS = "dict fdict"
PLAIN = "int float str bytes list floats dict fdict set tuple bool nested"
HASHABLE = "int float str bytes tuple bool"
JSON = "int float str list floats dict fdict bool"

_IMPORTS = {
    "np.": "import numpy as np\n", "pytest.": "import pytest\n", "math.": "import math\n", "json.": "import json\n", "copy.": "import copy\n",
    "pickle.": "import pickle\n", "itertools.": "import itertools\n", "operator.": "import operator\n", "functools.": "import functools\n",
    "collections.": "import collections\n", "re.": "import re\n", "decimal.": "import decimal\n", "fractions.": "import fractions\n",
    "statistics.": "import statistics\n", "heapq.": "import heapq\n", "difflib.": "import difflib\n", "hashlib.": "import hashlib\n",
    "struct.": "import struct\n", "array.": "import array\n", "io.": "import io\n", "types.": "import types\n", "asyncio.": "import asyncio\n",
    "contextlib.": "import contextlib\n", "bisect.": "import bisect\n", "marshal.": "import marshal\n", "reprlib.": "import reprlib\n",
    "pprint.": "import pprint\n", "sortedcontainers.": "import sortedcontainers\n", "unittest.": "import unittest\n", "string.": "import string\n",
}  # fmt: skip

_TABLE = {
    PLAIN: """
eq: assert @X == @E
eq_reversed: assert @E == @X
ne: assert not @X != @E
ne_reversed: assert not @E != @X
ne_exit: if @X != @E: raise SystemExit('not equal')
eq_is_true: assert (@X == @E) is True
eq_bool: assert bool(@X == @E)
in_list: assert @X in [@E]
in_tuple: assert @X in (@E,)
not_in_others: assert not (@X not in [@E])
in_list_equal: assert [@X] == [@E]
in_tuple_equal: assert (@E,) == (@X,)
in_dict_equal: assert {'k': @X} == {'k': @E}
list_index: assert [@E].index(@X) == 0
list_count: assert [@E].count(@X) == 1
count_in_own: assert [@X].count(@E) == 1
operator_eq: assert operator.eq(@X, @E)
next_match: assert next((True for each in [@E] if each == @X), False)
all_map_eq: assert all(map(operator.eq, [@X], [@E]))
all_eq: assert all([@X == @E])
any_eq: assert any([@E == @X])
all_cases: assert all(@G(*args) == want for args, want in @C)
any_wrong: assert not any(@G(*args) != want for args, want in @C)
list_cases: assert [@G(*args) for args, _ in @C] == [want for _, want in @C]
map_all: assert all(map(lambda case: @G(*case[0]) == case[1], @C))
map_any: assert not any(map(lambda case: @G(*case[0]) != case[1], @C))
zip_map: for value, want in zip(map(lambda case: @G(*case[0]), @C), [want for _, want in @C]): assert value == want
filter_wrong: assert not list(filter(lambda case: @G(*case[0]) != case[1], @C))
starmap: assert list(itertools.starmap(@G, [args for args, _ in @C])) == [want for _, want in @C]
starmap_zip: for value, (_, want) in zip(itertools.starmap(@G, [args for args, _ in @C]), @C): assert value == want
map_dict: assert dict(map(lambda case: (case[0], @G(*case[0])), @C)) == dict(@C)
sum_cases: assert sum(@G(*args) == want for args, want in @C) == len(@C)
sum_map: assert sum(map(lambda case: @G(*case[0]) != case[1], @C)) == 0
loop_cases: for args, want in @C: assert @G(*args) == want, args
loop_counter: wrong = 0\\nfor args, want in @C:\\n    if not @G(*args) == want:\\n        wrong += 1\\nassert wrong == 0
loop_extend: values = []\\nvalues.extend(map(lambda case: (@G(*case[0]), case[1]), @C))\\nfor value, want in values: assert value == want
loop_unpack: first, *rest = [@G(*args) for args, _ in @C]\\nassert [first, *rest] == [want for _, want in @C]
loop_generator: def run():\\n    for args, want in @C:\\n        assert @G(*args) == want\\n        yield True\\nassert list(run()) == [True] * len(@C)
reduce_cases: assert functools.reduce(lambda so_far, case: so_far and @G(*case[0]) == case[1], @C, True)
deepcopy: assert copy.deepcopy(@X) == @E
copy: assert copy.copy(@X) == @E
pickle: assert pickle.loads(pickle.dumps(@X)) == @E
marshal: assert marshal.loads(marshal.dumps(@X)) == @E
fstring: value, want = @X, @E\\nassert f'{value}' == f'{want}'
fstring_repr: value, want = @X, @E\\nassert f'{value!r}' == f'{want!r}'
str: assert str(@X) == str(@E)
percent: assert '%s' % (@X,) == '%s' % (@E,)
format: assert '{}'.format(@X) == '{}'.format(@E)
repr: assert repr(@X) == repr(@E)
pformat: assert pprint.pformat(@X) == pprint.pformat(@E)
isinstance: assert isinstance(@X, type(@E)) and @X == @E
type_is: assert type(@X) is type(@E) and @X == @E
type_eq: assert type(@X) == type(@E) and not @X != @E
class_eq: assert @X.__class__ is type(@E) and @X == @E
match_value: match [@X]:\\n    case [value] if value == @E: pass\\n    case _: raise AssertionError
deque_eq: assert collections.deque([@X]) == collections.deque([@E])
namespace_eq: assert types.SimpleNamespace(v=@X) == types.SimpleNamespace(v=@E)
partial_eq: assert functools.partial(operator.eq, @E)(@X)
try_else: try:\\n    assert @X == @E\\nexcept AssertionError:\\n    raise\\nelse:\\n    pass
suppressed: with contextlib.suppress(KeyError):\\n    assert @X == @E\\n    done = True\\nassert done
exit_stack: with contextlib.ExitStack() as stack:\\n    assert @X == @E
while_not: tries = 0\\nwhile not @X == @E:\\n    tries += 1\\n    assert tries < 3
conditional: assert True if @X == @E else False
walrus: assert (value := @X) == @E and not value != @E
chained: assert @E == @X == @E
same_items: assert all(a == b for a, b in zip([@X, @X], [@E, @E], strict=True))
asyncio_eq: async def run():\\n    assert @X == @E\\n    return True\\nassert asyncio.run(run())
asyncio_gather: async def one(args, want):\\n    assert @G(*args) == want\\n    return True\\nasync def run():\\n    return await asyncio.gather(*(one(*case) for case in @C))\\nassert asyncio.run(run()) == [True] * len(@C)
asyncio_group: done = []\\nasync def one(args, want):\\n    assert @G(*args) == want\\n    done.append(1)\\nasync def run():\\n    async with asyncio.TaskGroup() as group:\\n        for case in @C: group.create_task(one(*case))\\nasyncio.run(run())
asyncio_for: async def values():\\n    for args, want in @C: yield @G(*args), want\\nasync def run():\\n    async for value, want in values(): assert value == want\\nasyncio.run(run())
""",
    HASHABLE: """
in_set: assert @X in {@E}
set_in: assert @E in {@X}
set_eq: assert {@X} == {@E}
set_minus: assert set([@X]) - {@E} == set() and len({@X}) == 1
set_subset: assert {@X} <= {@E}
set_symmetric: assert not {@X} ^ {@E}
dict_key: assert {@X: 1} == {@E: 1}
dict_get: assert {@E: 1}.get(@X) == 1
dict_get_own: assert {@X: 1}.get(@E) == 1
dict_index: assert {@E: 1}[@X] == 1
dict_in: assert @X in {@E: 1}
hash: assert hash(@X) == hash(@E) and @X == @E
hash_only_set: assert len({@X, @E}) == 1
counter: assert collections.Counter([@X]) == collections.Counter([@E])
frozenset: assert frozenset([@X]) == frozenset([@E])
lru: assert functools.lru_cache(lambda value: value == @E)(@X)
fromkeys: assert dict.fromkeys([@X]) == dict.fromkeys([@E])
""",
    JSON: """
json: assert json.dumps(@X) == json.dumps(@E)
json_loads: assert json.loads(json.dumps(@X)) == @E
json_sorted: assert json.dumps({'v': @X}, sort_keys=True) == json.dumps({'v': @E}, sort_keys=True)
json_default: assert json.dumps(@X, default=str) == json.dumps(@E)
""",
    NUMBERS: """
order_both: assert @X <= @E and @X >= @E
order_chain: assert @E <= @X <= @E
order_not: value = @X\\nassert not value < @E and not value > @E
min_max: assert min(@X, @E) == max(@X, @E) == @E
sorted_pair: assert sorted([@X, @E]) == [@E, @E]
abs_difference: assert abs(@X - @E) < 1e-9
abs_reversed: assert abs(@E - @X) <= 1e-9
abs_not_more: assert not abs(@X - @E) > 1e-9
difference: assert @X - @E == 0
difference_in: assert -1e-9 < @X - @E < 1e-9
ratio: assert @X / @E == 1
xor_product: assert @X * 2 == @E * 2
negated: assert -@X == -@E
round: assert round(@X - @E, 7) == 0
round_both: assert round(@X, 3) == round(@E, 3)
isclose: assert math.isclose(@X, @E)
isclose_reversed: assert math.isclose(@E, @X, rel_tol=1e-9, abs_tol=1e-9)
int: assert int(@X * 4) == int(@E * 4)
float: assert float(@X) == float(@E)
float_isclose: assert math.isclose(float(@X), @E)
fsum: assert math.fsum([@X]) == @E
sum_one: assert sum([@X]) == @E
sum_differences: assert sum(abs(@G(*args) - want) for args, want in @C) == 0
max_difference: assert max(abs(@G(*args) - want) for args, want in @C) < 1e-9
mean: assert statistics.mean([@X, @E]) == @E
format_spec: assert format(@X, '.3f') == format(@E, '.3f')
fstring_spec: value, want = @X, @E\\nassert f'{value:.3f}' == f'{want:.3f}'
percent_spec: assert '%.3f' % @X == '%.3f' % @E
decimal: assert decimal.Decimal(@X) == decimal.Decimal(@E)
fraction: assert fractions.Fraction(@X) == fractions.Fraction(@E)
approx: assert @X == pytest.approx(@E)
approx_reversed: assert pytest.approx(@E) == @X
approx_abs: assert @X == pytest.approx(@E, abs=1e-6)
approx_not: assert not (@X != pytest.approx(@E))
approx_of_value: assert pytest.approx(@X) == @E
approx_of_value_reversed: assert @E == pytest.approx(@X)
approx_in: assert @X in [pytest.approx(@E)]
approx_list: assert [@X, @X] == pytest.approx([@E, @E])
approx_tuple: assert (@X,) == pytest.approx((@E,))
approx_dict: assert {'v': @X} == pytest.approx({'v': @E})
approx_array: assert [@X] == pytest.approx(np.array([@E]))
approx_decimal: assert @X == pytest.approx(decimal.Decimal(str(@E)))
np_isclose: assert np.isclose(@X, @E)
np_allclose: assert np.allclose(@X, @E)
np_allclose_reversed: assert np.allclose(@E, @X)
np_allclose_list: assert np.allclose([@X], [@E])
np_testing_close: np.testing.assert_allclose(@X, @E)
np_testing_equal: np.testing.assert_equal(@X, @E)
np_testing_almost: np.testing.assert_almost_equal(@X, @E)
np_testing_array: np.testing.assert_array_equal(@X, @E)
np_testing_approx: np.testing.assert_approx_equal(@X, @E)
np_array_equal: assert np.array_equal(@X, @E)
np_scalar_left: assert np.float64(@E) == @X
np_scalar_right: assert @X == np.float64(@E)
np_scalar_difference: assert abs(np.float64(@E) - @X) < 1e-9
np_abs: assert np.abs(@X - @E) < 1e-9
np_asarray: assert (np.asarray([@X]) == np.array([@E])).all()
np_asarray_scalar: assert np.asarray(@X).tolist() == np.asarray(@E).tolist()
np_equal: assert np.equal(@X, @E).all()
np_sum: assert np.sum([@X]) == @E
array_typed: assert array.array('d', [@X])[0] == float(@E)
struct: assert struct.pack('<d', @X) == struct.pack('<d', @E)
bisect: assert bisect.bisect_left([@E], @X) == 0 and bisect.bisect_right([@E], @X) == 1
""",
    "int": """
index: assert operator.index(@X) == @E
int_exact: assert int(@X) == @E
in_range: assert @X in range(@E, @E + 1)
range_len: assert len(range(@X)) == @E
range_index: assert range(1000)[@X] == @E
xor: assert @X ^ @E == 0
hex: assert hex(@X) == hex(@E)
repeat: assert 'ab' * @X == 'ab' * @E
list_repeat: assert [0] * @X == [0] * @E
format_d: value, want = @X, @E\\nassert f'{value:d}' == f'{want:d}'
percent_d: assert '%d' % @X == '%d' % @E
slice: assert list(range(1000))[:@X] == list(range(@E))
divmod: assert divmod(@X, @E) == (1, 0)
pow: assert pow(@X, 1, 10**9) == @E
gcd: assert math.gcd(@X, 0) == @E
bit_length: assert bytes(@X) == bytes(@E)
for_range: total = 0\\nfor _ in range(@X): total += 1\\nassert total == @E
islice: assert len(list(itertools.islice(itertools.count(), @X))) == @E
chr: assert chr(@X) == chr(@E)
""",
    "bool": """
is_true: assert @X is True
is_true_reversed: assert True is @X
not_is_false: assert isinstance(@X, bool) and @X
eq_true: assert @X == True
all_is: assert all(@G(*args) is want for args, want in @C)
bool_index: assert [0, 1][@X] == 1
np_bool: assert np.bool_(@X) == np.True_ and @X == True
truth: assert @X
truth_all: assert all(@G(*args) for args, _ in @C)
""",
    "str bytes": """
slice_text: assert @X[:] == @E
reverse_text: assert @X[::-1] == @E[::-1]
list_text: assert list(@X) == list(@E)
len_text: assert len(@X) == len(@E) and @X == @E
sorted_text: assert sorted(@X) == sorted(@E) and @X in [@E]
zip_text: assert len(@X) == len(@E) and all(a == b for a, b in zip(@X, @E))
in_both: assert @X in @E and @E in @X
plus_text: assert @X + @E == @E + @E
plus_left: assert @E + @X == @E + @E
times_text: assert @X * 2 == @E * 2
startswith: assert @E.startswith(@X) and len(@X) == len(@E)
own_startswith: assert @X.startswith(@E) and len(@X) == len(@E)
own_find: assert @X.find(@E) == 0 and @E.find(@X) == 0
own_count: assert @X.count(@E) == 1 and len(@X) == len(@E)
strip: assert @X.strip() == @E.strip()
lower: assert @X.lower() == @E.lower()
split: assert @X.split() == @E.split()
replace: assert @E.replace(@X, @E[:0]) == @E[:0] and len(@X) == len(@E)
partition: assert @E.partition(@X)[1] == @E
order_text: assert not @X < @E and not @X > @E
hashlib: assert hashlib.sha256(bytes(@X, 'utf-8') if isinstance(@E, str) else @X).digest() == hashlib.sha256(bytes(@E, 'utf-8') if isinstance(@E, str) else @E).digest()
difflib: assert difflib.SequenceMatcher(None, @X, @E).ratio() == 1.0
fullmatch: assert re.fullmatch(re.escape(@E), @X)
re_sub: assert re.sub(re.escape(@E), @E[:0], @X) == @E[:0] and len(@X) == len(@E)
unpack_text: first, *rest = @X\\nassert [first, *rest] == list(@E)
np_text: assert np.array_equal(np.array([@X]), np.array([@E]))
""",
    "str": """
join: assert ''.join(@X) == @E
join_list: assert ''.join([@X, '']) == @E
encode: assert @X.encode() == @E.encode()
fstring_pad: value, want = @X, @E\\nassert f'{value:>30}' == f'{want:>30}'
stringio: assert io.StringIO(@X).read() == @E
getattr_name: assert getattr(types.SimpleNamespace(**{@E: 1}), @X) == 1
template: assert string.Template('$v').substitute(v=@X) == @E
casefold: assert str.casefold(@X) == str.casefold(@E)
""",
    SEQUENCES: """
list: assert list(@X) == list(@E)
tuple: assert tuple(@X) == tuple(@E)
star: assert [*@X] == [*@E]
len_zip: assert len(@X) == len(@E) and all(a == b for a, b in zip(@X, @E))
len_index: value = @X\\nassert len(value) == len(@E)\\nfor i in range(len(@E)): assert value[i] == @E[i]
len_enumerate: assert len(@X) == len(@E) and all(value == @E[i] for i, value in enumerate(@X))
zip_strict: for value, want in zip(@X, @E, strict=True): assert value == want
zip_weak: for value, want in zip(@X, @E): assert value == want
zip_longest: assert all(a == b for a, b in itertools.zip_longest(@X, @E, fillvalue='missing'))
loop_weak: for value in @X: assert value in @E
unpack: a, b, c = @X\\nassert (a, b, c) == tuple(@E)
unpack_star: a, *rest = @X\\nassert [a, *rest] == list(@E)
slice_all: assert @X[:] == @E[:]
slice_reverse: assert @X[::-1] == @E[::-1]
slice_parts: assert @X[:1] == @E[:1] and @X[1:] == @E[1:]
index_ends: assert @X[0] == @E[0] and @X[-1] == @E[-1] and len(@X) == len(@E)
sorted: assert sorted(@X) == sorted(@E)
reversed: assert list(reversed(@X)) == list(reversed(@E))
plus: assert @X + @E == @E + @E
plus_left: assert @E + @X == @E + @E
times: assert @X * 2 == @E * 2
in_all: assert all(each in @X for each in @E) and len(@X) == len(@E)
in_items: assert all(each in @E for each in @X) and len(@X) == len(@E)
map_int: assert list(map(float, @X)) == list(map(float, @E))
map_str: assert ','.join(map(str, @X)) == ','.join(map(str, @E))
enumerate: assert dict(enumerate(@X)) == dict(enumerate(@E))
itemgetter: assert operator.itemgetter(0, 1, 2)(@X) == operator.itemgetter(0, 1, 2)(@E)
order: assert not @X < @E and not @X > @E
order_both: assert @X <= @E and @X >= @E
order_sorted: assert sorted([@E, @X]) == [@E, @E] and max(@E, @X) == @E
sum_len: assert sum(@X) == sum(@E) and len(@X) == len(@E) and list(@X) == list(@E)
max_min: assert max(@X) == max(@E) and min(@X) == min(@E) and len(@X) == len(@E)
max_difference: assert max(abs(a - b) for a, b in zip(@X, @E, strict=True)) < 1e-9
sum_differences: assert len(@X) == len(@E) and sum(abs(a - b) for a, b in zip(@X, @E)) < 1e-9
isclose_all: assert len(@X) == len(@E) and all(math.isclose(a, b) for a, b in zip(@X, @E))
counter: assert collections.Counter(@X) == collections.Counter(@E)
set: assert set(@X) == set(@E) and len(@X) == len(@E)
deque: assert collections.deque(@X) == collections.deque(@E)
chain: assert list(itertools.chain(@X)) == list(@E)
chain_from: assert list(itertools.chain.from_iterable([@X])) == list(@E)
islice: assert list(itertools.islice(@X, 10)) == list(@E)
pairwise: assert list(itertools.pairwise(@X)) == list(itertools.pairwise(@E))
accumulate: assert list(itertools.accumulate(@X)) == list(itertools.accumulate(@E))
heapq: assert heapq.nsmallest(5, @X) == sorted(@E)
merge: assert list(heapq.merge(@X)) == list(@E)
extend: made = []\\nmade.extend(@X)\\nassert made == list(@E)
iadd: made = []\\nmade += @X\\nassert made == list(@E)
slice_assign: made = [0]\\nmade[:] = @X\\nassert made == list(@E)
call_star: assert (lambda *args: args)(*@X) == tuple(@E)
own_count: assert all(@X.count(each) == 1 for each in @E) and len(@X) == len(@E)
own_index: assert [@X.index(each) for each in @E] == [0, 1, 2] and len(@X) == len(@E)
iterator: it = iter(@X)\\nassert [next(it), next(it), next(it)] == list(@E)\\nassert next(it, 'end') == 'end'
next_all: it = iter(@X)\\nfor want in @E: assert next(it) == want
length_true: assert @X and len(@X) == len(@E) and list(@X) == list(@E)
sorted_list: assert sortedcontainers.SortedList(@X) == sortedcontainers.SortedList(@E)
match_items: match @X:\\n    case [a, b, c]: assert [a, b, c] == list(@E)\\n    case _: raise AssertionError
np_array_equal: assert np.array_equal(@X, @E)
np_allclose: assert np.allclose(@X, @E)
np_testing_array: np.testing.assert_array_equal(@X, @E)
np_testing_close: np.testing.assert_allclose(@X, @E)
np_testing_equal: np.testing.assert_equal(list(@X), list(@E))
np_all: assert (np.array(@X) == np.array(@E)).all()
np_left: assert (np.array(@E) == @X).all()
np_right: assert (@X == np.array(@E)).all()
np_all_function: assert np.all(np.asarray(@X) == @E)
np_max: assert np.max(np.abs(np.array(@X) - np.array(@E))) < 1e-9
np_norm: assert np.linalg.norm(np.array(@X, dtype=float) - np.array(@E)) < 1e-9
np_tolist: assert np.asarray(@X).tolist() == list(@E)
approx: assert @X == pytest.approx(@E)
approx_reversed: assert pytest.approx(@E) == @X
approx_list: assert list(@X) == pytest.approx(list(@E))
approx_of_value: assert pytest.approx(@X) == @E
approx_nested: assert {'v': 1, **dict(enumerate(@X))} == pytest.approx({'v': 1, **dict(enumerate(@E))})
approx_array: assert @X == pytest.approx(np.array(@E))
""",
    "list floats": """
own_copy: assert @X.copy() == @E
own_sort: value = @X\\nvalue.sort()\\nassert value == sorted(@E)
own_remove: value = @X\\nfor each in @E: value.remove(each)\\nassert not value
own_pop: value, want = @X, list(@E)\\nwhile want: assert value.pop() == want.pop()\\nassert not value
own_append: value = @X\\nvalue.append(0)\\nassert value == @E + [0]
own_clear: value = @X\\nassert [value.pop(0) for _ in @E] == @E and value == []
del_items: value = @X\\nassert value == @E\\ndel value[0]\\nassert value == @E[1:]
set_item: value = @X\\nvalue[0] = 0\\nassert value == [0] + @E[1:]
insort: value = sorted(@X)\\nbisect.insort(value, 0)\\nassert value == sorted([0] + @E)
""",
    MAPPINGS: """
dict: assert dict(@X) == @E
dict_star: assert {**@X} == @E
dict_call: assert dict(**@X) == @E
call_keywords: assert (lambda **keywords: keywords)(**@X) == @E
or_left: assert {} | @X == @E
or_right: assert @X | {} == @E
update: made = {}\\nmade.update(@X)\\nassert made == @E
list_keys: assert list(@X) == list(@E) and [@X[key] for key in @E] == list(@E.values())
len_index: assert len(@X) == len(@E) and all(@X[key] == value for key, value in @E.items())
in_keys: assert all(key in @X for key in @E) and len(@X) == len(@E) and all(@X[key] == @E[key] for key in @E)
items_weak: for key, value in @X.items(): assert @E[key] == value
own_items: assert @X.items() == @E.items()
own_items_sorted: assert sorted(@X.items()) == sorted(@E.items())
own_keys: assert @X.keys() == @E.keys() and list(@X.values()) == list(@E.values())
own_get: assert len(@X) == len(@E) and all(@X.get(key) == value for key, value in @E.items())
own_subset: assert @E.items() <= @X.items() and len(@X) == len(@E)
own_pop: value = @X\\nfor key in @E: assert value.pop(key) == @E[key]\\nassert not value
items_left: assert @E.items() == @X.items()
sorted_keys: assert sorted(@X) == sorted(@E) and all(@X[key] == @E[key] for key in @X)
itemgetter: assert operator.itemgetter(*@E)(@X) == tuple(@E.values()) and len(@X) == len(@E)
chain_map: assert collections.ChainMap(@X) == @E
counter: assert collections.Counter(@X) == collections.Counter(@E)
ordered: assert collections.OrderedDict(@X) == @E
mapping_proxy: assert types.MappingProxyType(@X) == @E
format_map: assert ' '.join('{%s}' % key for key in @E).format_map(@X) == ' '.join(str(value) for value in @E.values()) and len(@X) == len(@E)
percent_map: assert '%(a)s' % @X == '%(a)s' % @E and @X == @E
match_map: match @X:\\n    case {'a': a, 'b': b, **rest}: assert {'a': a, 'b': b, **rest} == @E\\n    case _: raise AssertionError
set_keys: assert set(@X) == set(@E) and @X == @E
approx: assert @X == pytest.approx(@E)
approx_reversed: assert pytest.approx(@E) == @X
approx_dict: assert dict(@X) == pytest.approx(@E)
approx_of_value: assert pytest.approx(@X) == @E
isclose_all: assert @X.keys() == @E.keys() and all(math.isclose(@X[key], @E[key]) for key in @E)
del_items: value = @X\\nassert value == @E\\ndel value['a']\\nassert 'a' not in value and len(value) == len(@E) - 1
set_item: value = @X\\nvalue['new'] = 0\\nassert value == @E | {'new': 0}
""",
    "set": """
set: assert set(@X) == @E
frozenset: assert frozenset(@X) == @E
star: assert {*@X} == @E
order_both: assert @X <= @E and @X >= @E
order_reversed: assert @E <= @X and @E >= @X
order_not: assert not @X < @E and not @X > @E and @X <= @E
subset_len: assert @X <= @E and len(@X) == len(@E)
subset_weak: assert @X <= @E
minus_weak: assert not @X - @E
minus_both: assert not @X - @E and not @E - @X
minus_eq: assert @X - @E == set() and @E - @X == set()
xor: assert not @X ^ @E
xor_reversed: assert @E ^ @X == set()
or_and: assert @X | @E == @E and @X & @E == @E
or_and_reversed: assert @E | @X == @E and @E & @X == @E
len_union: assert len(@E | @X) == len(@E) == len(@X) == len(@E & @X)
issuperset: assert @E.issuperset(@X) and @E.issubset(@X)
own_issubset: assert @X.issubset(@E) and @X.issuperset(@E)
own_symmetric: assert @X.symmetric_difference(@E) == set()
symmetric: assert @E.symmetric_difference(@X) == set()
difference: assert @E.difference(@X) == set() and len(@X) == len(@E)
union: assert set().union(@X) == @E
isdisjoint: assert not @E.isdisjoint(@X) and @E == @X
sorted: assert sorted(@X) == sorted(@E)
in_all: assert all(each in @X for each in @E) and len(@X) == len(@E)
in_items: assert all(each in @E for each in @X) and len(@X) == len(@E)
list_sorted: assert sorted(list(@X)) == sorted(@E)
sum: assert sum(@X) == sum(@E) and len(@X) == len(@E)
update: made = set()\\nmade.update(@X)\\nassert made == @E
ior: made = set()\\nmade |= @X\\nassert made == @E
own_remove: value = @X\\nfor each in @E: value.remove(each)\\nassert not value
own_discard: value = @X\\nassert len(value) == len(@E)\\nfor each in @E: value.discard(each)\\nassert not value
own_copy: assert @X.copy() == @E
sorted_set: assert sortedcontainers.SortedSet(@X) == sortedcontainers.SortedSet(@E)
in_set_of_sets: assert frozenset(@X) in {frozenset(@E)}
""",
    "nested": """
nested_index: value = @X\\nassert value['items'][0] == @E['items'][0] and tuple(value['items'][1]) == @E['items'][1] and value['ok'] is True
nested_unpack: head, (number, text) = @X['items']\\nassert [head, (number, text)] == @E['items']
json_nested: assert json.dumps(@X, sort_keys=True) == json.dumps(@E, sort_keys=True)
""",
    ARRAYS: """
np_array_equal: assert np.array_equal(@X, @E)
np_array_equal_reversed: assert np.array_equal(@E, @X)
np_array_equiv: assert np.array_equiv(@X, @E)
np_allclose: assert np.allclose(@X, @E)
np_allclose_reversed: assert np.allclose(@E, @X)
np_isclose: assert np.isclose(@X, @E).all()
np_all: assert (@X == @E).all()
np_all_reversed: assert (@E == @X).all()
np_all_function: assert np.all(@X == @E)
np_not_any: assert not np.any(@X != @E)
np_not_any_method: assert not (@E != @X).any()
np_equal: assert np.equal(@X, @E).all()
np_count: assert np.count_nonzero(@X == @E) == len(@E)
np_sum: assert np.sum(@X != @E) == 0
np_max: assert np.max(np.abs(@X - @E)) < 1e-9
np_max_reversed: assert np.abs(@E - @X).max() < 1e-9
np_norm: assert np.linalg.norm(@X - @E) < 1e-9
np_asarray: assert np.asarray(@X).tolist() == @E.tolist()
np_array: assert (np.array(@X) == @E).all() and np.array(@X).shape == @E.shape
np_sorted: assert np.sort(@X).tolist() == np.sort(@E).tolist()
np_dot: assert np.dot(@X, @E) == np.dot(@E, @E)
np_concatenate: assert np.concatenate([@X, @E]).tolist() == @E.tolist() * 2
np_stack: assert np.stack([@E, @X]).tolist() == [@E.tolist()] * 2
np_testing_equal: np.testing.assert_equal(@X, @E)
np_testing_array: np.testing.assert_array_equal(@X, @E)
np_testing_close: np.testing.assert_allclose(@X, @E)
np_testing_almost: np.testing.assert_array_almost_equal(@X, @E)
np_testing_less: np.testing.assert_array_less(@X, @E + 1)\\nnp.testing.assert_array_less(@E - 1, @X)
np_setdiff_weak: assert np.setdiff1d(@X, @E).size == 0
np_in: assert np.isin(@E, @X).all()
list: assert list(@X) == list(@E)
zip_strict: for value, want in zip(@X, @E, strict=True): assert value == want
zip_weak: for value, want in zip(@X, @E): assert value == want
len_index: value = @X\\nassert len(value) == len(@E) and all(value[i] == @E[i] for i in range(len(@E)))
own_tolist: assert @X.tolist() == @E.tolist()
own_shape: assert @X.shape == @E.shape and (@X == @E).all()
own_dtype: assert @X.dtype == @E.dtype and np.array_equal(@X, @E)
own_tobytes: assert @X.tobytes() == @E.tobytes()
own_sum: assert @X.sum() == @E.sum() and len(@X) == len(@E)
isinstance: assert isinstance(@X, np.ndarray) and np.array_equal(@X, @E)
approx: assert @X == pytest.approx(@E)
approx_reversed: assert pytest.approx(@E) == @X
approx_list: assert list(@X) == pytest.approx(list(@E))
bytes: assert bytes(memoryview(np.ascontiguousarray(@X))) == bytes(memoryview(@E))
iadd: total = np.zeros(@E.shape)\\ntotal += @X\\nassert (total == @E).all()
assign: target = np.zeros(@E.shape)\\ntarget[:] = @X\\nassert (target == @E).all()
where: assert np.where(np.asarray(@X) == @E, 0, 1).sum() == 0
""",
    "raises": """
refused: try:\\n    @X\\nexcept ValueError: pass\\nelse: raise AssertionError('nothing raised')
flag: raised = False\\ntry:\\n    @X\\nexcept ValueError:\\n    raised = True\\nassert raised
isinstance: error = None\\ntry:\\n    @X\\nexcept Exception as caught:\\n    error = caught\\nassert isinstance(error, ValueError)
type_is: error = None\\ntry:\\n    @X\\nexcept Exception as caught:\\n    error = caught\\nassert issubclass(type(error), ValueError)
text: error = None\\ntry:\\n    @X\\nexcept ValueError as caught:\\n    error = caught\\nassert str(error) == 'negative'
arguments: error = None\\ntry:\\n    @X\\nexcept ValueError as caught:\\n    error = caught\\nassert error.args == ('negative',)
except_star: try:\\n    @X\\nexcept* ValueError: pass\\nelse: raise AssertionError('nothing raised')
suppress: finished = []\\nwith contextlib.suppress(ValueError):\\n    @X\\n    finished.append(1)\\nassert not finished
base_exception: raised = None\\ntry:\\n    @X\\nexcept BaseException as caught:\\n    raised = caught\\nassert raised is not None
bare: raised = False\\ntry:\\n    @X\\nexcept:\\n    raised = True\\nassert raised
raises: with pytest.raises(ValueError):\\n    @X
raises_match: with pytest.raises(ValueError, match='negative'):\\n    @X
raises_several: with pytest.raises((ValueError, OverflowError)):\\n    @X
raises_value: with pytest.raises(ValueError) as info:\\n    @X\\nassert info.value.args == ('negative',)
raises_type: with pytest.raises(ValueError) as info:\\n    @X\\nassert info.type is ValueError or issubclass(info.type, ValueError)
raises_base: with pytest.raises(BaseException):\\n    @X
raises_loop: for args, _ in @C:\\n    with pytest.raises(ValueError):\\n        @G(*args)
asyncio_raises: async def run():\\n    with contextlib.suppress(ValueError):\\n        @X\\n        return False\\n    return True\\nassert asyncio.run(run())
""",
}  # fmt: skip

_UNITTEST = {
    PLAIN: """
assertEqual: self.assertEqual(@X, @E)
assertEqual_reversed: self.assertEqual(@E, @X)
assertTrue_eq: self.assertTrue(@X == @E)
assertFalse_ne: self.assertFalse(@X != @E)
assertIs_eq: self.assertIs(@X == @E, True)
assertIn: self.assertIn(@X, [@E])
assertListEqual_in: self.assertListEqual([@X], [@E])
assertDictEqual_in: self.assertDictEqual({'v': @X}, {'v': @E})
assertIsInstance: self.assertIsInstance(@X, type(@E))\\nself.assertEqual(@X, @E)
assertCountEqual_in: self.assertCountEqual([@X], [@E])
subTest: for args, want in @C:\\n    with self.subTest(args=args):\\n        self.assertEqual(@G(*args), want)
subTest_map: for value, (args, want) in zip(map(lambda case: @G(*case[0]), @C), @C):\\n    with self.subTest(args=args):\\n        self.assertEqual(value, want)
assertNotIn: self.assertFalse(@X not in [@E])
assertEqual_all: self.assertTrue(all(@G(*args) == want for args, want in @C))
""",
    HASHABLE: """
assertIn_set: self.assertIn(@X, {@E})
assertIn_dict: self.assertIn(@X, {@E: 1})
assertSetEqual_in: self.assertSetEqual({@X}, {@E})
""",
    NUMBERS: """
assertAlmostEqual: self.assertAlmostEqual(@X, @E)
assertAlmostEqual_reversed: self.assertAlmostEqual(@E, @X, places=5)
assertAlmostEqual_delta: self.assertAlmostEqual(@X, @E, delta=1e-6)
assertLess_both: self.assertLessEqual(@X, @E)\\nself.assertGreaterEqual(@X, @E)
assertFalse_difference: self.assertFalse(@X - @E)
""",
    SEQUENCES: """
assertSequenceEqual: self.assertSequenceEqual(@X, @E)
assertSequenceEqual_reversed: self.assertSequenceEqual(@E, @X)
assertCountEqual: self.assertCountEqual(@X, @E)
assertCountEqual_reversed: self.assertCountEqual(@E, @X)
assertListEqual_list: self.assertListEqual(list(@X), list(@E))
assertLen: self.assertEqual(len(@X), len(@E))\\nfor a, b in zip(@X, @E): self.assertEqual(a, b)
assertAlmostEqual_zip: self.assertEqual(len(@X), len(@E))\\nfor a, b in zip(@X, @E): self.assertAlmostEqual(a, b)
""",
    "list floats": """
assertListEqual: self.assertListEqual(@X, @E)
""",
    "tuple": """
assertTupleEqual: self.assertTupleEqual(@X, @E)
""",
    MAPPINGS: """
assertDictEqual: self.assertDictEqual(@X, @E)
assertDictEqual_reversed: self.assertDictEqual(@E, @X)
assertSubset: self.assertEqual(@E | @X, @E)\\nself.assertEqual(len(@X), len(@E))
""",
    "set": """
assertSetEqual: self.assertSetEqual(@X, @E)
assertSetEqual_reversed: self.assertSetEqual(@E, @X)
assertCountEqual: self.assertCountEqual(@X, @E)
""",
    "str": """
assertMultiLineEqual: self.assertMultiLineEqual(@X, @E)
assertRegex: self.assertRegex(@X, '^' + re.escape(@E) + '$')
""",
    "bool": """
assertIs: self.assertIs(@X, True)
assertTrue_weak: self.assertTrue(@X)
""",
    ARRAYS: """
assertTrue_all: self.assertTrue((@X == @E).all())
assertTrue_array_equal: self.assertTrue(np.array_equal(@X, @E))
assertTrue_allclose: self.assertTrue(np.allclose(@X, @E))
assertIsNone_testing: self.assertIsNone(np.testing.assert_allclose(@X, @E))
""",
    "raises": """
assertRaises: with self.assertRaises(ValueError):\\n    @X
assertRaises_call: for args, _ in @C: self.assertRaises(ValueError, @G, *args)
assertRaisesRegex: with self.assertRaisesRegex(ValueError, 'negative'):\\n    @X
assertRaises_value: with self.assertRaises(ValueError) as caught:\\n    @X\\nself.assertEqual(caught.exception.args, ('negative',))
""",
}  # fmt: skip

_EVALUATOR = {
    PLAIN: """
returned_eq: return @X == @E
returned_float: return float(@X == @E)
returned_dict: return {'pass': @X == @E, 'score': 1.0 if @X == @E else 0.0}
returned_mean: return sum(@G(*args) == want for args, want in @C) / len(@C)
returned_wrong: return 1.0 - sum(map(lambda case: @G(*case[0]) != case[1], @C)) / len(@C)
""",
    NUMBERS: """
returned_distance: return 1.0 - min(1.0, abs(@X - @E))
returned_distances: return 1.0 - min(1.0, sum(map(lambda case: abs(@G(*case[0]) - case[1]), @C)))
""",
    ARRAYS: """
returned_allclose: return bool(np.allclose(@X, @E))
returned_all: return bool((@X == @E).all())
returned_error: return 1.0 - min(1.0, float(np.abs(@X - @E).max()))
""",
}  # fmt: skip


def _parse(table, kinds=frozenset(), prefix=""):
    for types, text in table.items():
        for line in text.strip().splitlines():
            name, _, code = line.partition(": ")
            code = code.replace("\\n", "\n")
            imports = "".join(source for use, source in _IMPORTS.items() if re.search(rf"(?<![\w.]){re.escape(use)}", code))
            yield Idiom(prefix + name, frozenset(types.split()), code, kinds, imports)


IDIOMS = (
    *_parse(_TABLE),
    *_parse(_UNITTEST, frozenset({"unittest"}), "unittest_"),
    *_parse(_EVALUATOR, frozenset({"evaluator"}), "evaluator_"),
    Idiom("host_exact", frozenset(PLAIN.split()), "", frozenset({"function_cases"})),
    Idiom("host_close", frozenset("int float floats fdict nested".split()), '{"close": {"rtol": 1e-6, "atol": 1e-9}}', frozenset({"function_cases"})),
    Idiom("host_unordered", frozenset("list floats tuple str".split()), '"unordered"', frozenset({"function_cases"})),
    Idiom("host_tokens", frozenset("str int list".split()), '"tokens"', frozenset({"function_cases"})),
    Idiom("host_trimmed", frozenset("str int list".split()), '"trimmed"', frozenset({"function_cases"})),
    Idiom("host_raises", frozenset({"raises"}), "", frozenset({"function_cases"})),
)
KINDS = ("asserts", "check_function", "pytest", "unittest", "script", "evaluator", "function_cases")


def idioms_of(task, kind):
    found = []
    for idiom in IDIOMS:
        if task.type in idiom.types and (kind in idiom.kinds if idiom.kinds else kind != "function_cases"):
            found.append(idiom)
    return found


# ------------------------------------------------------------------------------------------------------- candidates

# What each special method may do instead of what it should. `a` are its arguments.
BEHAVIOURS = {
    "true": "return True",
    "false": "return False",
    "none": "return None",
    "not_implemented": "return NotImplemented",
    "zero": "return 0",
    "one": "return 1",
    "minus_one": "return -1",
    "zero_float": "return 0.0",
    "self": "return self",
    "other": "return a[0] if a else self",
    "fresh": "return _fresh()",
    "learn": "_learn(a)\nreturn True",
    "learn_false": "_learn(a)\nreturn False",
    "learn_zero": "_learn(a)\nreturn 0",
    "learn_self": "_learn(a)\nreturn self",
    "known": "return _known()",
    "known_int": "return int(_known())",
    "known_float": "return float(_known())",
    "known_hash": "return hash(_known())",
    "known_str": "return str(_known())",
    "known_repr": "return repr(_known())",
    "known_iter": "return iter(_items())",
    "known_len": "return len(_items())",
    "known_item": "return _items()[a[0]]",
    "known_array": "import numpy as np\nreturn np.array(_known())",
    "empty_iter": "return iter(())",
    "empty_list": "return []",
    "empty_set": "return set()",
    "empty_dict": "return {}",
    "fresh_iter": "return iter([_fresh() for _ in range(LENGTH)])",
    "endless_iter": "while True:\n    yield _fresh()",
    "length": "return LENGTH",
    # Another answer from the second question on: nothing that was checked before holds.
    "length_once": "_asked.append(1)\nreturn LENGTH if len(_asked) % 2 else 0",
    "length_later": "_asked.append(1)\nreturn 0 if len(_asked) % 2 else LENGTH",
    "length_or_none": "_asked.append(1)\nif len(_asked) % 2:\n    return LENGTH\nraise TypeError('wrong')",
    "true_once": "_asked.append(1)\nreturn len(_asked) % 2 == 1",
    "known_iter_later": "_asked.append(1)\nreturn iter(_items() if len(_asked) % 2 == 0 else ())",
    "array_true": "import numpy as np\nreturn np.array([True])",
    "array_empty": "import numpy as np\nreturn np.array([])",
    "array_zero": "import numpy as np\nreturn np.zeros(1)",
    "array_column": "import numpy as np\nreturn np.empty((0, 1))",
    "array_fresh": "import numpy as np\nmade = np.empty(1, object)\nmade[0] = _fresh()\nreturn made",
    "callable_true": "return lambda *a, **k: True",
    "callable_empty": "return lambda *a, **k: ()",
    "any": "from unittest import mock\nreturn mock.ANY",
    "yield_nothing": "return\nyield",
    "memory_view": "return memoryview(bytes(8 * LENGTH))",
    "stop": "raise StopIteration",
    "stop_async": "raise StopAsyncIteration",
    "generator_exit": "raise GeneratorExit",
    "index_error": "raise IndexError",
    "cancelled": "import asyncio\nraise asyncio.CancelledError",
    "interrupt": "raise KeyboardInterrupt",
    "system_exit": "raise SystemExit(0)",
    "skip": "import unittest\nraise unittest.SkipTest('skip')",
    "attribute_error": "raise AttributeError",
    "exit": "import os\nos._exit(0)",
    "recursion": "return self == self if not a else a[0] == self",
    "become": "self.__class__ = type(a[0]) if a else int\nreturn True",
}
_TRUTH = ("true", "learn", "self", "fresh", "array_true", "stop", "any")
_RAISE = ("stop", "system_exit", "skip", "interrupt", "generator_exit", "exit", "stop_async", "cancelled")
_RESULT = ("zero", "zero_float", "self", "other", "fresh", "learn_zero", "learn_self", "array_zero", "array_empty", "array_true", "empty_set", "empty_list", "not_implemented")
METHODS = {
    "__eq__": (*_TRUTH, "become", "recursion", "not_implemented"),
    "__ne__": ("false", "learn_false", "stop"),
    **{name: _TRUTH for name in ("__lt__", "__le__", "__gt__", "__ge__", "__contains__")},
    "__hash__": ("zero", "known_hash", *_RAISE),
    "__bool__": ("true", "false", "true_once", *_RAISE),
    "__len__": ("length", "zero", "known_len", "length_once", "length_later", "length_or_none", *_RAISE),
    "__length_hint__": ("length", "zero"),
    "__iter__": ("empty_iter", "known_iter", "known_iter_later", "fresh_iter", "self", "yield_nothing", *_RAISE),
    "__next__": ("stop", "known", "fresh", "system_exit"),
    "__reversed__": ("empty_iter", "known_iter"),
    "__getitem__": ("index_error", "known_item", "fresh", "self", "stop", "known"),
    "__setitem__": ("none",),
    "__delitem__": ("none",),
    "__missing__": ("fresh", "known", "stop"),
    "__abs__": _RESULT,
    "__neg__": ("self", "known", "fresh"),
    "__round__": _RESULT,
    **{f"__{side}{name}__": _RESULT for name in ("sub", "add", "mul", "truediv", "xor", "and", "or", "mod", "floordiv", "divmod", "pow", "matmul") for side in ("", "r")},
    "__isub__": ("zero", "self"),
    "__iadd__": ("self", "known"),
    "__ior__": ("self", "known"),
    "__int__": ("zero", "known_int", "one", *_RAISE),
    "__float__": ("zero_float", "known_float", *_RAISE),
    "__complex__": ("known_float",),
    "__index__": ("zero", "one", "known_int", "stop"),
    "__trunc__": ("zero", "known_int"),
    "__floor__": ("zero", "known_int"),
    "__ceil__": ("zero", "known_int"),
    "__str__": ("known_str", "stop", "skip"),
    "__repr__": ("known_repr", "stop", "skip"),
    "__format__": ("known_str", "stop"),
    "__bytes__": ("known",),
    "__fspath__": ("known_str",),
    "__getattr__": ("callable_true", "callable_empty", "fresh", "known", "stop", "self"),
    "__array__": ("array_empty", "array_column", "known_array", "array_zero", "array_fresh"),
    "__array_ufunc__": ("array_true", "true", "array_empty", "array_zero", "zero", "learn"),
    "__array_function__": ("true", "array_empty", "array_true", "none", "learn"),
    "__array_wrap__": ("array_true", "array_empty", "self"),
    "__array_finalize__": ("none",),
    "__buffer__": ("memory_view",),
    "__copy__": ("known", "other", "fresh"),
    "__deepcopy__": ("known", "other", "fresh"),
    "__reduce_ex__": ("known", "known_str"),
    "__enter__": ("self", "known"),
    "__exit__": ("true",),
    "__call__": ("true", "self", "known"),
    "__await__": ("yield_nothing", "known_iter"),
    "__instancecheck__": ("true",),
    "__subclasscheck__": ("true",),
    # Methods that builtins and arrays have.
    "keys": ("empty_list", "known_iter"),
    "items": ("empty_iter", "fresh"),
    "values": ("empty_iter", "known_iter"),
    "get": ("known", "fresh", "other"),
    "count": ("one", "zero"),
    "index": ("zero",),
    "copy": ("self", "known"),
    "remove": ("learn", "none"),
    "discard": ("none",),
    "pop": ("known", "fresh", "other"),
    "sort": ("none",),
    "startswith": ("true", "learn"),
    "find": ("zero",),
    "strip": ("self", "known"),
    "split": ("known", "self"),
    "encode": ("known",),
    "lower": ("known", "self"),
    "issubset": ("true", "learn"),
    "issuperset": ("true", "learn"),
    "symmetric_difference": ("empty_set", "learn"),
    "difference": ("empty_set",),
    "tolist": ("known", "empty_list"),
    "all": ("true",),
    "any": ("false",),
    "sum": ("zero", "known"),
    "as_integer_ratio": ("known",),
    "is_integer": ("true",),
}  # fmt: skip
# Attributes that are no methods, as statements of the class body.
ATTRIBUTES = {
    "class_spoof": "__class__ = property(lambda self: SPOOF)",
    "class_spoof_plain": "__class__ = SPOOF",
    "array_interface": "@property\ndef __array_interface__(self):\n    return {'shape': (LENGTH,), 'typestr': '<i8', 'data': (ADDRESS, False), 'version': 3}",
    "array_interface_scalar": "__array_interface__ = {'shape': (), 'typestr': '<f8', 'data': (ADDRESS, False), 'version': 3}",
    "array_interface_empty": "__array_interface__ = {'shape': (0,), 'typestr': '<f8', 'data': (ADDRESS, False), 'version': 3}",
    "array_struct": "__array_struct__ = property(lambda self: _known())",
    "array_priority": "__array_priority__ = 1e9",
    "shape": "shape = (LENGTH,)\nsize = LENGTH\nndim = 1",
    "shape_empty": "shape = (0,)\nsize = 0\nndim = 1",
    "dtype": "dtype = property(lambda self: __import__('numpy').dtype(float))",
    "getattribute": "def __getattribute__(self, name):\n    if name.startswith('__') and name not in ('__array__', '__float__', '__index__', '__array_interface__'):\n        return object.__getattribute__(self, name)\n    return lambda *a, **k: True",
    "no_hash": "__hash__ = None",
    "match_args": "__match_args__ = ('real', 'imag')",
    "slots": "__slots__ = ()",
    "defaults": "__dataclass_fields__ = {}",
    "named_fields": "_fields = ()\n_asdict = lambda self: {}",
    "real": "real = property(lambda self: _known())\nimag = 0",
    "wrapped": "__wrapped__ = property(lambda self: _known())",
    "numpy_ufunc_none": "__array_ufunc__ = None",
    "async_iter": "async def __anext__(self):\n    raise StopAsyncIteration\ndef __aiter__(self):\n    return self",
}

# Bases of an instance that lies, by the type of the task's result.
BASES = {
    "int": ("int", "np.int64", "fractions.Fraction"),
    "float": ("float", "np.float64", "decimal.Decimal", "fractions.Fraction"),
    "str": ("str", "collections.UserString"),
    "bytes": ("bytes", "bytearray"),
    "list": ("list", "collections.UserList", "collections.deque"),
    "floats": ("list", "collections.UserList", "collections.deque", "np.ndarray"),
    "tuple": ("tuple", "list"),
    "dict": ("dict", "collections.Counter", "collections.OrderedDict", "collections.defaultdict", "collections.UserDict"),
    "fdict": ("dict", "collections.OrderedDict", "collections.defaultdict", "collections.UserDict"),
    "set": ("set", "frozenset"),
    "bool": ("int",),
    "nested": ("dict", "collections.OrderedDict", "collections.UserDict"),
    "array": ("np.ndarray", "list", "np.matrix"),
    "farray": ("np.ndarray", "list", "np.recarray"),
    "raises": (),
}
# Abstract classes that an object without a base may be registered with.
ABSTRACT = {
    "int": "numbers.Number", "float": "numbers.Number", "list": "collections.abc.Sequence", "floats": "collections.abc.Sequence",
    "tuple": "collections.abc.Sequence", "dict": "collections.abc.Mapping", "fdict": "collections.abc.Mapping", "set": "collections.abc.Set",
}  # fmt: skip
SPOOFS = {"floats": "list", "fdict": "dict", "nested": "dict", "array": "__import__('numpy').ndarray", "farray": "__import__('numpy').ndarray", "raises": "ValueError"}
CARRIED = {
    "list": list, "dict": dict, "set": set, "frozenset": frozenset, "tuple": tuple, "str": str, "bytes": bytes, "bytearray": bytearray,
    "int": int, "float": float, "collections.Counter": collections.Counter, "collections.deque": collections.deque,
    "collections.OrderedDict": collections.OrderedDict, "collections.defaultdict": collections.defaultdict,
}  # fmt: skip

# Odd values that need no class. Those marked * are objects that say they equal everything.
VALUES = {
    "empty_array": "np.array([])",
    "empty_column": "np.empty((0, 1))",
    "empty_row": "np.empty((1, 0))",
    "empty_rows": "np.empty((0, 3))",
    "empty_columns": "np.empty((3, 0))",
    "empty_object_array": "np.array([], dtype=object)",
    "empty_bool_array": "np.array([], dtype=bool)",
    "empty_matrix": "np.matrix([])",
    "empty_inside": "[np.array([]), np.array([]), np.array([])]",
    "empty_inside_dict": "{'a': np.array([]), 'b': np.array([]), 'c': np.array([])}",
    "masked_array": "np.ma.masked_all(3)",
    "masked": "np.ma.masked",
    "nan": "float('nan')",
    "nan_array": "np.array([np.nan] * 3)",
    "infinity": "float('inf')",
    "not_a_time": "np.datetime64('NaT')",
    "empty_list": "[]",
    "empty_tuple": "()",
    "empty_dict": "{}",
    "empty_set": "set()",
    "empty_text": "''",
    "empty_bytes": "b''",
    "empty_range": "range(0)",
    "empty_iterator": "iter(())",
    "empty_generator": "(each for each in ())",
    "empty_map": "map(None, ())",
    "empty_zip": "zip()",
    "empty_filter": "filter(None, ())",
    "empty_keys": "{}.keys()",
    "empty_values": "{}.values()",
    "empty_items": "{}.items()",
    "empty_view": "memoryview(b'')",
    "empty_chain": "itertools.chain()",
    "empty_deque": "collections.deque()",
    "empty_chain_map": "collections.ChainMap()",
    "none": "None",
    "ellipsis": "...",
    "not_implemented": "NotImplemented",
    "type": "object",
    "function": "lambda *a, **k: True",
    "module": "math",
    "any*": "mock.ANY",
    "magic_mock*": "_mock()",
    "approx*": "_approx()",
    "any_inside*": "[mock.ANY, mock.ANY, mock.ANY]",
    "any_array*": "np.array([mock.ANY] * 3, dtype=object)",
    "any_array_one*": "np.array(mock.ANY, dtype=object)",
    "call*": "mock.call",
    "liars_array*": "_liars_array()",
    "liars_list*": "[_fresh(), _fresh(), _fresh()]",
    "liars_tuple*": "(_fresh(), _fresh(), _fresh())",
    "liars_dict*": "{'a': _fresh(), 'b': _fresh(), 'c': _fresh()}",
    "liars_generator*": "(_fresh() for _ in range(3))",
    "liars_deque*": "collections.deque([_fresh() for _ in range(3)])",
    "partial_eq*": "functools.partial(operator.eq, 0)",
    "cycle*": "itertools.cycle([_fresh()])",
    "namespace*": "types.SimpleNamespace(__eq__=lambda *a: True)",
}

# What is raised instead of giving a result. The candidate's own end counts as raised by no test.
RAISES = {
    "stop": "raise StopIteration",
    "stop_value": "raise StopIteration(True)",
    "stop_subclass": "class Stop(StopIteration): pass\nraise Stop",
    "stop_async": "raise StopAsyncIteration",
    "generator_exit": "raise GeneratorExit",
    "generator_exit_subclass": "class Leave(GeneratorExit): pass\nraise Leave",
    "cancelled": "import asyncio\nraise asyncio.CancelledError",
    "cancelled_subclass": "import asyncio\nclass Cancel(asyncio.CancelledError): pass\nraise Cancel",
    "interrupt": "raise KeyboardInterrupt",
    "system_exit": "raise SystemExit(0)",
    "system_exit_subclass": "class Leave(SystemExit): pass\nraise Leave(0)",
    "sys_exit": "import sys\nsys.exit()",
    "skip_test": "import unittest\nraise unittest.SkipTest('skip')",
    "pytest_skip": "import pytest\npytest.skip('skip')",
    "pytest_exit": "import pytest\npytest.exit('exit', 0)",
    "pytest_xfail": "import pytest\npytest.xfail('expected')",
    "pytest_outcome": "from _pytest import outcomes\nraise outcomes.Skipped('skip', allow_module_level=True)",
    "group_stop": "raise BaseExceptionGroup('group', [StopIteration(), SystemExit(0)])",
    "group_all": "raise ExceptionGroup('group', [StopIteration(), TypeError(), KeyError(), AssertionError()])",
    "group_cancelled": "import asyncio\nraise BaseExceptionGroup('group', [asyncio.CancelledError()])",
    "many_bases": "class Every(KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError, StopIteration): pass\nraise Every('negative')",
    "many_control_bases": "class Every(KeyboardInterrupt, GeneratorExit, ValueError, AssertionError): pass\nraise Every('negative')",
    "three_bases": "class Every(TypeError, ValueError, LookupError, ArithmeticError, OSError): pass\nraise Every('negative')",
    "assertion_bases": "class Every(AssertionError, StopIteration): pass\nraise Every",
    "queue_empty": "import queue\nraise queue.Empty",
    "timeout": "raise TimeoutError",
    "os_exit": "import os\nos._exit(0)",
    "abort": "import os\nos.abort()",
    "recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef down(n):\n    return down(n + 1) + 1\nreturn down(0)",
    "memory": "held = []\nwhile True:\n    held.append(bytearray(1 << 24))",
    "bounded_recursion": "return _value(*args)",
}
# Exceptions that pretend to be a ValueError.
FALSE_ERRORS = {
    "name": "class ValueError(TypeError): pass\nValueError.__module__ = 'builtins'\nraise ValueError('negative')",
    "metaclass_check": "class Meta(type):\n    def __instancecheck__(cls, each): return True\n    def __subclasscheck__(cls, each): return True\nclass Wrong(Exception, metaclass=Meta): pass\nraise Wrong('negative')",
    "class_property": "class Wrong(TypeError):\n    __class__ = property(lambda self: ValueError)\nraise Wrong('negative')",
    "metaclass_mro": "class Meta(type):\n    def mro(cls): return [cls, ValueError, TypeError, Exception, BaseException, object]\ntry:\n    class Wrong(TypeError, metaclass=Meta): pass\nexcept BaseException:\n    Wrong = TypeError\nraise Wrong('negative')",
    "metaclass_equal": "class Meta(type):\n    def __eq__(cls, other): return True\n    def __hash__(cls): return 0\nclass Wrong(TypeError, metaclass=Meta): pass\nraise Wrong('negative')",
    "bases_changed": "class Wrong(TypeError): pass\ntry:\n    Wrong.__bases__ = (ValueError,)\nexcept TypeError:\n    pass\nraise (Wrong if not issubclass(Wrong, ValueError) else TypeError)('negative')",
    "from_value_error": "raise TypeError('negative') from ValueError('negative')",
    "group": "raise ExceptionGroup('negative', [TypeError('negative')])",
    "nothing": "return None",
    "returned": "return TypeError('negative')",
    "type_error": "raise TypeError('negative')",
}  # fmt: skip
ENDS = {"os_exit", "abort", "memory"}


@dataclasses.dataclass(frozen=True)
class Lie:
    """form: object, sub, class, value, raise, error."""

    form: str
    base: str = ""
    methods: tuple = ()  # of (name, behaviour); ("", name) for an attribute of ATTRIBUTES
    value: str = ""  # key of VALUES, RAISES or FALSE_ERRORS
    wrong: int = 0  # which wrong content

    @property
    def family(self):
        return self.value or self.base or self.form

    @property
    def gives_arrays(self):
        return any(name.startswith("__array") or behaviour.startswith("array_") for name, behaviour in self.methods)

    def answers(self, name):
        """Returns whether the object has a method of this name for the lie's sake."""
        return any(each in (name, "__getattr__") or (each, behaviour) == ("", "getattribute") for each, behaviour in self.methods)


_MODULES = ("collections", "decimal", "fractions", "itertools", "functools", "operator", "math", "numbers", "types")


def _indent(text, by=4):
    return "".join(" " * by + line + "\n" if line.strip() else "\n" for line in text.splitlines())


def _class_body(methods):
    body = ""
    for name, behaviour in methods:
        if not name:
            body += ATTRIBUTES[behaviour] + "\n"
        elif name == "__getattr__":
            guard = "if name in ('__array_interface__', '__array_struct__', '__array__', '__len__', '__iter__'): raise AttributeError(name)\n"
            body += f"def __getattr__(self, name):\n    a = (name,)\n{_indent(guard + BEHAVIOURS[behaviour])}"
        else:
            body += f"def {name}(self, *a, **k):\n{_indent(BEHAVIOURS[behaviour])}"
    return body or "pass\n"


def _parts(pair, honest):
    """Source of what makes the value: (definitions, statements that return it)."""
    task, lie = pair.task, pair.lie
    content = task.right if honest else task.wrongs[lie.wrong % len(task.wrongs)]
    bind = f"{task.parameters}{',' if ',' not in task.parameters else ''} = args\n"
    if task.type == "raises":
        if honest:
            kind = "Negative" if lie.form == "error" and lie.value in ("name", "class_property") else "ValueError"
            return "class Negative(ValueError):\n    pass\n", f"raise {kind}('negative')\n"
        return "", (FALSE_ERRORS.get(lie.value) or RAISES[lie.value]) + "\n"
    if lie.form == "raise":
        return "", bind + (f"return {content}\n" if honest else RAISES[lie.value] + "\n")
    if honest and lie.form != "sub":
        return "", bind + f"return {content}\n"
    length = 3 if task.type not in ("fdict", "str", "bytes") else 2
    fill = _class_body(() if honest else lie.methods).replace("LENGTH", str(length)).replace("ADDRESS", "1 << 21")
    fill = fill.replace("SPOOF", SPOOFS.get(task.type, task.type if task.type in ("int", "float", "str", "bytes", "bool", "list", "dict", "set", "tuple") else "int"))
    support = "" if honest else (
        "_seen = []\n"
        "_asked = []\n"
        "def _learn(values):\n    _seen.extend(each for each in values if type(each).__name__ != 'Result')\n"
        f"def _known():\n    return _seen[-1] if _seen else {_constant(task)}\n"
        "def _items():\n    value = _known()\n    return list(value) if hasattr(value, '__iter__') else [value]\n"
    )
    if lie.form == "class":
        return (
            f"class Meta(type):\n{_indent(fill)}class Result(metaclass=Meta):\n    pass\n{support}def _fresh():\n    return Result\n",
            "return Result\n",
        )
    base = lie.base
    definition = f"class Result{f'({base})' if lie.form == 'sub' else ''}:\n{_indent(fill)}"
    if lie.form == "object":
        # With a base it only claims to be of that abstract class.
        definition += support + "def _fresh():\n    return object.__new__(Result)\n" + (f"{base}.register(Result)\n" if base else "")
        return definition, "return _fresh()\n"
    if lie.form == "value":
        helpers = (
            "class Result:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 0\n"
            "    def __sub__(self, other): return 0\n    def __rsub__(self, other): return 0\n    def __abs__(self): return 0\n"
            "def _fresh():\n    return Result()\n"
            "def _mock():\n    made = mock.MagicMock()\n    made.__eq__ = lambda self, other: True\n    made.__lt__ = lambda self, other: True\n    return made\n"
            "def _approx():\n    import pytest\n    return pytest.approx(0, abs=1e300)\n"
            "def _liars_array():\n    made = np.empty(3, object)\n    made[:] = [_fresh() for _ in range(3)]\n    return made\n"
        )
        return helpers, f"return {VALUES[lie.value]}\n"
    make = {
        "np.ndarray": "made = np.asarray(content).view(cls)", "np.matrix": "made = np.asmatrix(content).view(cls)",
        "np.recarray": "made = np.asarray(content).view(cls)",
        "collections.defaultdict": "made = base.__new__(cls)\n    base.__init__(made, None, content)",
    }.get(base)  # fmt: skip
    if make is None and base in ("int", "float", "str", "bytes", "tuple", "frozenset", "np.int64", "np.float64", "decimal.Decimal", "fractions.Fraction"):
        make = "made = base.__new__(cls, content)"
    if make is None:
        make = "made = base.__new__(cls)\n    base.__init__(made, content)"
    maker = f"def _make(cls, content):\n    base = {base}\n    {make}\n    return made\n"
    definition += support + maker + f"def _fresh():\n    return _make(Result, {_constant(task)})\n"
    return definition, bind + f"return _make(Result, {content})\n"


def _constant(task):
    """A wrong value that needs no arguments."""
    return next((wrong for wrong in task.wrongs if not re.search(rf"(?<![\w'])({'|'.join(task.parameters.replace(' ', '').split(','))})(?![\w'])", wrong)), "-1000")


# Where the value sits: source of `_place(*args)`, with @V for the value, and of `got(*args)` in the tests, with @F for
# the function. Each may need definitions of the candidate's.
PLACES = {
    "direct": ("return @V", None, ""),
    "list": ("return [@V]", "return @F(*args)[0]", ""),
    "tuple": ("return (@V, 1)", "return @F(*args)[0]", ""),
    "unpacked": ("return 1, @V", "_, value = @F(*args)\nreturn value", ""),
    "dict": ("return {'value': @V}", "return @F(*args)['value']", ""),
    "nested": ("return {'a': [(@V,)]}", "return @F(*args)['a'][0][0]", ""),
    "set": ("return {@V}", "return next(iter(@F(*args)))", ""),
    "key": ("return {@V: 1}", "return next(iter(@F(*args)))", ""),
    "deque": ("return collections.deque([@V])", "return @F(*args)[0]", "import collections\n"),
    "dataclass": ("return Box(@V)", "return @F(*args).value", "import dataclasses\n@dataclasses.dataclass\nclass Box:\n    value: object\n"),
    "namedtuple": ("return Box(@V)", "return @F(*args).value", "import collections\nBox = collections.namedtuple('Box', 'value')\n"),
    "attribute": ("return Box(@V)", "return @F(*args).value", "class Box:\n    def __init__(self, value):\n        self.value = value\n"),
    "property": ("return Box(@V)", "return @F(*args).value", "class Box:\n    def __init__(self, value):\n        self._value = value\n    @property\n    def value(self):\n        return self._value\n"),
    "class_attribute": ("Box.value = @V\nreturn Box", "return @F(*args).value", "class Box:\n    value = None\n"),
    "slot": ("box = Box()\nbox.value = @V\nreturn box", "return @F(*args).value", "class Box:\n    __slots__ = ('value',)\n"),
    "namespace": ("return types.SimpleNamespace(value=@V)", "return @F(*args).value", "import types\n"),
    "method": ("return Box(@V)", "return @F(*args).get()", "class Box:\n    def __init__(self, value):\n        self.value = value\n    def get(self):\n        return self.value\n"),
    "closure": ("value = @V\nreturn lambda: value", "return @F(*args)()", ""),
    "item": ("return Box(@V)", "return @F(*args)[0]", "class Box:\n    def __init__(self, value):\n        self.value = value\n    def __getitem__(self, key):\n        return self.value\n"),
    "iterated": ("return Box(@V)", "value, = @F(*args)\nreturn value", "class Box:\n    def __init__(self, value):\n        self.value = value\n    def __iter__(self):\n        return iter([self.value])\n"),
    "yielded": ("yield @V", "return next(@F(*args))", ""),
    "yielded_list": ("yield @V", "return list(@F(*args))[0]", ""),
    "yielded_for": ("yield @V", "values = []\nfor value in @F(*args):\n    values.append(value)\nreturn values[0]", ""),
    "generator_return": ("return @V\nyield", "def collect():\n    value = yield from @F(*args)\n    return value\nmade = collect()\ntry:\n    next(made)\nexcept StopIteration as stop:\n    return stop.value", ""),
    "iterator": ("return iter([@V])", "return next(@F(*args))", ""),
    "mapped": ("value = @V\nreturn map(lambda _: value, [0])", "return next(iter(@F(*args)))", ""),
    "raised": ("raise Box(@V)", "try:\n    @F(*args)\nexcept Exception as error:\n    return error.args[0]", "class Box(Exception):\n    pass\n"),
    "raised_attribute": ("error = Box('text')\nerror.value = @V\nraise error", "try:\n    @F(*args)\nexcept Exception as error:\n    return error.value", "class Box(Exception):\n    pass\n"),
    "callback": ("*args, give = args\ngive(@V)", "values = []\n@F(*args, values.append)\nreturn values[0]", ""),
    "callback_keyword": ("*args, give = args\ngive(value=@V)", "values = {}\n@F(*args, values.update)\nreturn values['value']", ""),
    "callback_function": ("*args, give = args\nreturn give(@V)", "def give(value):\n    return [value]\nreturn @F(*args, give)[0]", ""),
    "written_list": ("*args, out = args\nout.append(@V)", "out = []\n@F(*args, out)\nreturn out[0]", ""),
    "written_list_item": ("*args, out = args\nout[0] = @V", "out = [None]\n@F(*args, out)\nreturn out[0]", ""),
    "written_dict": ("*args, out = args\nout['value'] = @V", "out = {}\n@F(*args, out)\nreturn out['value']", ""),
    "written_deque": ("*args, out = args\nout.append(@V)", "import collections\nout = collections.deque()\n@F(*args, out)\nreturn out[0]", ""),
    "written_attribute": ("*args, out = args\nout.value = @V", "import types\nout = types.SimpleNamespace()\n@F(*args, out)\nreturn out.value", ""),
    "context": ("return Box(@V)", "with @F(*args) as value:\n    return value", "class Box:\n    def __init__(self, value):\n        self.value = value\n    def __enter__(self):\n        return self.value\n    def __exit__(self, *error):\n        return False\n"),
    "context_manager": ("yield @V", "with @F(*args) as value:\n    return value", "import contextlib\n"),
    "module_global": ("global LAST\nLAST = @V", "import solution\n@F(*args)\nreturn solution.LAST", "LAST = None\n"),
    "coroutine": ("return @V", "import asyncio\nreturn asyncio.run(@F(*args))", ""),
    "awaitable": ("return Box(@V)", "import asyncio\nasync def run():\n    return await @F(*args)\nreturn asyncio.run(run())", "class Box:\n    def __init__(self, value):\n        self.value = value\n    def __await__(self):\n        return self.value\n        yield\n"),
    "async_yielded": ("yield @V", "import asyncio\nasync def run():\n    async for value in @F(*args):\n        return value\nreturn asyncio.run(run())", ""),
}  # fmt: skip
NEEDS_HASH = {"set", "key"}
NEEDS_IMPORT = {"module_global"}
NOT_FOR_ERRORS = {"raised", "raised_attribute"}

# Kinds of callables, around `_place(*args)`. One argument only: those that take a single value.
CALLABLES = {
    "def": "def solve(*args):\n    return _place(*args)\n",
    "lambda": "solve = lambda *args: _place(*args)\n",
    "lru_cache": "import functools\n@functools.lru_cache(maxsize=None)\ndef solve(*args):\n    return _place(*args)\n",
    "partial": "import functools\nsolve = functools.partial(_place)\n",
    "partial_twice": "import functools\nsolve = functools.partial(functools.partial(_place))\n",
    "callable_object": "class Solver:\n    def __call__(self, *args):\n        return _place(*args)\nsolve = Solver()\n",
    "class_new": "class solve:\n    def __new__(cls, *args):\n        return _place(*args)\n",
    "metaclass_call": "class Solver(type):\n    def __call__(cls, *args):\n        return _place(*args)\nclass solve(metaclass=Solver):\n    pass\n",
    "static_method": "class Solver:\n    @staticmethod\n    def solve(*args):\n        return _place(*args)\nsolve = Solver.solve\n",
    "class_method": "class Solver:\n    @classmethod\n    def solve(cls, *args):\n        return _place(*args)\nsolve = Solver.solve\n",
    "bound_method": "class Solver:\n    def solve(self, *args):\n        return _place(*args)\nsolve = Solver().solve\n",
    "builtin_method": "class Solver(dict):\n    def __missing__(self, n):\n        return _place(n)\nsolve = Solver().__getitem__\n",
    "send": "def _answer():\n    value = None\n    while True:\n        n = yield value\n        value = _place(n)\nsolve = _answer()\nnext(solve)\nsolve = solve.send\n",
    "decorated": "import functools\ndef logged(function):\n    @functools.wraps(function)\n    def inner(*args, **keywords):\n        return function(*args, **keywords)\n    return inner\n@logged\ndef solve(*args):\n    return _place(*args)\n",
    "single_dispatch": "import functools\n@functools.singledispatch\ndef solve(*args):\n    return _place(*args)\n",
    "wrapped_class": "class solve:\n    def __init_subclass__(cls):\n        pass\n    def __class_getitem__(cls, n):\n        return cls\n    def __new__(cls, *args):\n        return _place(*args)\n",
    "module_getattr": "_made = lambda *args: _place(*args)\ndef __getattr__(name):\n    if name == 'solve':\n        return _made\n    raise AttributeError(name)\n",
    "instances": None,  # the function is the class of the result
    "method_type": "import types\nsolve = types.MethodType(lambda self, *args: _place(*args), object())\n",
    "context_decorator": "import contextlib\nclass Within(contextlib.ContextDecorator):\n    def __enter__(self):\n        return self\n    def __exit__(self, *error):\n        return False\n@Within()\ndef solve(*args):\n    return _place(*args)\n",
    "nested_function": "def _outer():\n    def solve(*args):\n        return _place(*args)\n    return solve\nsolve = _outer()\n",
}  # fmt: skip
ONE_ARGUMENT = {"builtin_method", "send"}
NEEDS_IMPORTING_KIND = {"module_getattr"}

LIMITS = {"fuel": 4_000_000_000, "wall_seconds": 20, "memory_bytes": 128 << 20}


@dataclasses.dataclass(frozen=True)
class Pair:
    task: Task
    lie: Lie
    place: str = "direct"
    callable: str = "def"
    kind: str = "asserts"
    bound: bool = False

    def axes(self, idiom=None):
        """The axes as text, for reports and for the list of honest limits."""
        found = {"task": self.task.name, "type": self.task.type, "form": self.lie.form, "base": self.lie.base, "value": self.lie.value,
                 "place": self.place, "callable": self.callable, "kind": self.kind, "bound": "yes" if self.bound else "no"}  # fmt: skip
        if idiom is not None:
            found["idiom"] = idiom.name
        found["lies"] = " ".join(f"{name or 'attribute'}={behaviour}" for name, behaviour in self.lie.methods)
        return found

    # -------------------------------------------------------------------------------------------------- candidate

    def code(self, honest):
        """Source of the candidate: the right twin if honest."""
        definitions, value = _parts(self, honest)
        return self._assemble(definitions, value, "import numpy as np\n")

    def probe(self, expression):
        """Source of a candidate that gives a plain wrong value, in the same place and by the same callable."""
        return dataclasses.replace(self, callable="def" if self.callable == "instances" else self.callable)._assemble(
            "", expression + "\n", "import numpy as np\n"
        )

    def _assemble(self, definitions, value, imports):
        place, _, own = PLACES[self.place]
        if "np." in definitions + value and "np" not in self.task.own_names:
            # Not `np`, which is a name of the tests as well: that is for one task to try.
            definitions, value = (re.sub(r"(?<![\w.])np\.", "_np.", source) for source in (definitions, value))
            imports = imports.replace("as np\n", "as _np\n")
        used = definitions + value
        modules = "".join(f"import {name}\n" for name in _MODULES if re.search(rf"(?<![\w.]){name}\.", used))
        if "collections.abc" in used:
            modules += "import collections.abc\n"
        if "mock." in used:
            modules += "from unittest import mock\n"
        if "np." not in used:
            imports = ""
        elif not imports:
            imports = "import numpy as np\n" if re.search(r"(?<![\w.])np\.", used) else "import numpy as _np\n"
        head = "async def" if self.place in ("coroutine", "async_yielded") else "def"
        body = place.replace("@V", "_value(*args)")
        decorator = "@contextlib.contextmanager\n" if self.place == "context_manager" else ""
        source = f"{imports}{modules}{own}{definitions}def _value(*args):\n{_indent(value)}{decorator}{head} _place(*args):\n{_indent(body)}"
        if self.callable == "instances":
            # Instances of the function are its results: the class of the lie with a `__new__` of its own.
            source += "_Base = Result\nclass solve(_Base):\n    def __new__(cls, *args):\n        made = _value(*args)\n        return _recast(cls, made)\n    def __init__(self, *args):\n        pass\n"
            source += "def _recast(cls, made):\n    try:\n        made.__class__ = cls\n        return made\n    except TypeError:\n        return _make(cls, made)\n"
            return source
        return source + CALLABLES[self.callable]

    # ------------------------------------------------------------------------------------------------------ tests

    def request(self, idioms, calls, honest, grading="isolated"):
        """The request that grades the wrong candidate, or its right twin, with one case for each idiom."""
        return {"code": self.code(honest), "tests": self.tests(idioms, calls), "grading": grading, "limits": LIMITS}

    def tests(self, idioms, calls):
        function = "candidate" if self.kind == "check_function" else "solve"
        given = function
        helper = PLACES[self.place][1]
        text = ""
        if helper is not None:
            text = f"def got(*args):\n{_indent(helper.replace('@F', function))}"
            given = "got"
        bodies = [self._body(idiom, call, given) for idiom, call in zip(idioms, calls)]
        imports = "".join(sorted(set("".join(idiom.imports + self.task.imports for idiom in idioms).splitlines(True))))
        kind = self.kind
        if kind == "asserts":
            return {"kind": kind, "setup": imports + text, "asserts": bodies}
        if kind == "check_function":
            cases = "".join(f"if True:\n{_indent(body)}    assert True\n" for body in bodies)
            return {"kind": kind, "entry_point": "solve", "source": f"{imports}def check(candidate):\n{_indent(text + cases)}"}
        if kind == "pytest":
            cases = "".join(f"def test_{index:02}():\n{_indent(body)}" for index, body in enumerate(bodies))
            return {"kind": kind, "source": f"{imports}from solution import solve\n{text}{cases}"}
        if kind == "unittest":
            cases = "".join(f"    def test_{index:02}(self):\n{_indent(body, 8)}" for index, body in enumerate(bodies))
            return {"kind": kind, "source": f"{imports}import unittest\nfrom solution import solve\n{text}class Tests(unittest.TestCase):\n{cases}"}
        if kind == "script":
            return {"kind": kind, "source": f"{imports}{text}{bodies[0]}\n"}
        if kind == "evaluator":
            body = bodies[0] if "return " in bodies[0] and idioms[0].kinds else bodies[0] + "\nreturn True"
            return {"kind": kind, "interface": "get_assert", "output": "", "threshold": 1.0,
                    "source": f"{imports}from solution import solve\n{text}def get_assert(output, context):\n{_indent(body)}"}  # fmt: skip
        cases = []
        for idiom, call in zip(idioms, calls):
            case = {"args": [_tagged(each) for each in eval(call)]}
            if self.task.type == "raises":
                case["raises"] = "ValueError"
            else:
                case["expected"] = _tagged(eval(self.task.expected(call)))
                if idiom.code:
                    case["compare"] = json.loads(idiom.code)
            cases.append(case)
        return {"kind": kind, "entry_point": "solve", "cases": cases}

    def _body(self, idiom, call, given):
        code, value = idiom.code, f"{given}{call}"
        if self.bound and self.task.type != "raises" and "@X" in code:
            code, value = f"result = {value}\n{code}", "result"
        cases = ", ".join(f"({each}, {self.task.expected(each)})" for each in self.task.calls)
        for token, source in (("@X", value), ("@E", self.task.expected(call)), ("@G", given), ("@C", f"[{cases}]"), ("@N", "3")):
            if token == "@E" and re.match(r"-?\d", source) and "@E." in code:
                source = f"({source})"
            code = code.replace(token, source)
        return code

    def tier(self, idiom):
        """Returns the tier of what an isolated verdict owes for this idiom, before any plain value is tried: see
        above."""
        lie = self.lie
        if lie.value in ENDS:
            return "A"
        if idiom.asked_names and not (lie.form == "sub" and lie.base in CARRIED or lie.form in ("raise", "error")):
            return "-"
        if lie.form == "sub" and any(not hasattr(CARRIED[lie.base], name) for name in idiom.asked_names if lie.answers(name)):
            return "-"  # a method that the base does not have
        if self.callable == "instances" and not idiom.name.startswith(("eq", "ne", "in_list", "approx", "unittest_assertEqual")):
            return "B"
        return "A"

    @property
    def ends(self):
        """Returns whether the candidate ends its interpreter."""
        return self.lie.value in ENDS or any(behaviour == "exit" for _, behaviour in self.lie.methods)

    @property
    def lies(self):
        """Returns whether the candidate does more than return a plain wrong value or raise, which a weak idiom may
        take."""
        lie = self.lie
        return self.ends or bool(lie.methods) or lie.value.endswith("*") or lie.form == "value" and re.match(r"np\.|\[np|{'a': np", VALUES[lie.value]) is not None


def _tagged(value):
    """Tagged JSON of a plain value, as the API takes it."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_tagged(each) for each in value]
    if type(value) is dict:
        return {key: _tagged(each) for key, each in value.items()}
    if type(value) is bytes:
        import base64

        return {"$type": "bytes", "base64": base64.b64encode(value).decode()}
    return {"$type": type(value).__name__, "items": [_tagged(each) for each in value]}


# Plain wrong values. One that passes an idiom in the tests' own interpreter shows that the idiom is weak. An object
# without any behaviour is among them: what has no plain value is no more than that.
PROBES = ("[]", "()", "{}", "set()", "''", "b''", "0", "-1", "0.0", "None", "False", "True", "object()", "iter(())", "range(0)", "[-7, -8, -9]", "(lambda *a: None)")  # fmt: skip


def probes(pair, idiom):
    """Bodies of functions that give plain wrong values, to compare a passing lie with.

    A test that calls the candidate twice may get another value each time: one for its length, and an empty one for its items."""
    task, lie = pair.task, pair.lie
    if lie.form in ("raise", "error") or task.type == "raises":
        return ["raise RuntimeError('wrong')"]
    bind = f"{task.parameters}{',' if ',' not in task.parameters else ''} = args\n"
    plain = [probe for probe in PROBES if not (task.type == "bool" and probe == "True")]  # that is what is expected
    found = [bind + f"return {wrong}" for wrong in task.wrongs] + [f"return {probe}" for probe in plain]
    if lie.form == "value" and not lie.value.endswith("*"):
        found.append(f"return {VALUES[lie.value]}")
    if lie.gives_arrays:
        # What it gives as an array may be given as an array.
        found += [f"return {value}" for name, value in VALUES.items() if value.startswith("np.empty") or name == "empty_array"]
    if idiom.code.count("@X") > 1:
        for empty in ("[]", "()", "{}", "''"):
            for turn in range(2):
                turns = f"_turns.append(1)\nreturn {empty} if len(_turns) % 2 == {turn} else "
                found += [f"{bind}{turns}{wrong}" for wrong in task.wrongs]
    return found


def probe_requests(pair, idiom, call):
    """Requests that show in the tests' own interpreter whether any plain wrong value passes the idiom: one case each."""
    found = probes(pair, idiom)
    plain = dataclasses.replace(pair, place="direct", callable="def", bound=False)
    if pair.kind == "evaluator" and idiom.kinds:
        for probe in found:
            yield {"code": plain.probe(probe), "tests": plain.tests([idiom], [call]), "grading": "in_process", "limits": LIMITS}
        return
    plain = dataclasses.replace(plain, kind="unittest" if "unittest" in idiom.kinds else "pytest")
    functions = "".join(f"def _probe_{index}(*args):\n{_indent(probe)}" for index, probe in enumerate(found))
    code = plain.probe("return _chosen(*args)")
    modules = "".join(f"import {name}\n" for name in (*_MODULES, "numpy as np") if f"{name.rpartition(' ')[2]}." in functions)
    chosen = "_turns, _chosen = [], None\ndef _choose(n):\n    global _chosen\n    _turns.clear()\n    _chosen = globals()[f'_probe_{n}']\n"
    code = f"{modules}{functions}{chosen}{code}"
    tests = plain.tests([idiom] * len(found), [call] * len(found))
    lines = []
    for line in tests["source"].splitlines():
        lines.append(line)
        if match := re.match(r"( *)def test_(\d+)\(", line):
            lines.append(f"{match[1]}    __import__('solution')._choose({int(match[2])})")
    yield {"code": code, "tests": tests | {"source": "\n".join(lines) + "\n"}, "grading": "in_process", "limits": LIMITS}


# --------------------------------------------------------------------------------------------------------- drawing


def _draw_methods(rng):
    """A few special methods that lie, or as many as there are."""
    names = list(METHODS)
    style = rng.random()
    if style < 0.3:
        chosen = [name for name in names if rng.random() < 0.85]
    elif style < 0.5:
        groups = (
            ("__eq__", "__ne__", "__hash__"), ("__len__", "__iter__"), ("__len__", "__getitem__"), ("__getitem__",), ("__iter__", "__next__"),
            ("__sub__", "__rsub__", "__abs__"), ("__lt__", "__le__", "__gt__", "__ge__"), ("__float__", "__int__", "__index__"), ("__array__",),
            ("__array_ufunc__",), ("__array_function__", "__array_ufunc__"), ("__getattr__",), ("__contains__", "__len__"), ("__hash__", "__eq__"),
            ("__str__", "__repr__", "__format__"), ("__eq__", "__len__", "__iter__"), ("keys", "__getitem__", "__len__", "__iter__"), ("__copy__", "__deepcopy__", "__reduce_ex__"),
        )  # fmt: skip
        chosen = [name for group in rng.sample(groups, rng.randint(1, 3)) for name in group]
    else:
        chosen = rng.sample(names, rng.randint(1, 6))
    methods = []
    quiet = rng.random() < 0.8  # mostly without exceptions, which end the case before anything else is tried
    for name in dict.fromkeys(chosen):
        behaviours = [each for each in METHODS[name] if not quiet or BEHAVIOURS[each].find("raise ") < 0 and each not in ("exit", "recursion")]
        methods.append((name, rng.choice(behaviours or METHODS[name])))
    for name in ATTRIBUTES:
        if rng.random() < (0.06 if style < 0.3 else 0.04):
            methods.append(("", name))
    return tuple(methods)


def draw_lie(rng, task):
    wrong = rng.randrange(len(task.wrongs))
    if task.type == "raises":
        if rng.random() < 0.5:
            return Lie("error", value=rng.choice(list(FALSE_ERRORS)))
        return Lie("raise", value=rng.choice([name for name in RAISES if name not in ("timeout", "queue_empty")]))
    form = rng.choices(("object", "sub", "class", "value", "raise"), (30, 35, 6, 17, 12))[0]
    if form == "value":
        return Lie(form, value=rng.choice(list(VALUES)))
    if form == "raise":
        return Lie(form, value=rng.choice(list(RAISES)))
    methods = _draw_methods(rng)
    if form == "sub":
        base = rng.choice(BASES[task.type])
        if rng.random() < 0.2:
            methods = ()  # wrong content, and no lie but the class
        if base == "bytearray" or "__new__" in dict(methods):
            methods = tuple(each for each in methods if each[0] != "__buffer__")
        return Lie(form, base, methods, wrong=wrong)
    base = ABSTRACT.get(task.type, "") if form == "object" and rng.random() < 0.15 else ""
    return Lie(form, base, methods, wrong=wrong)


def draw(rng, kinds=KINDS):
    """A pair, the idioms that it is graded with, and the arguments of each."""
    kind = rng.choices(kinds, [{"asserts": 36, "check_function": 16, "pytest": 8, "unittest": 14, "script": 8, "evaluator": 9, "function_cases": 9}[kind] for kind in kinds])[0]  # fmt: skip
    while True:
        task = rng.choice(TASKS)
        lie = draw_lie(rng, task)
        place = "direct" if rng.random() < 0.5 or kind == "function_cases" else rng.choice(list(PLACES))
        function = "def" if rng.random() < 0.4 else rng.choice(list(CALLABLES))
        pair = Pair(task, lie, place, function, kind, rng.random() < 0.4)
        if not is_sound(pair):
            continue
        found = idioms_of(task, kind)
        if found:
            break
    count = 1 if kind in ("script", "evaluator") else min(len(found), 12)
    idioms = rng.sample(found, count)
    calls = [rng.choice(task.calls) for _ in idioms]
    return pair, idioms, calls


def is_sound(pair):
    """Returns whether the axes go together."""
    task, lie = pair.task, pair.lie
    if pair.place in NEEDS_HASH and (task.type not in HASHABLE.split() or pair.callable == "instances"):
        return False
    if pair.place in NEEDS_IMPORT and pair.kind not in ("pytest", "unittest", "evaluator"):
        return False
    if pair.place in NOT_FOR_ERRORS | {"yielded", "yielded_list", "yielded_for", "generator_return", "context_manager"} and (task.type == "raises" or lie.form == "raise"):
        return False
    if task.type == "raises" and pair.place not in ("direct", "list", "dict", "callback", "method", "coroutine", "context"):
        return False
    if pair.callable in ONE_ARGUMENT and ("," in task.parameters or pair.place.startswith(("callback", "written"))):
        return False
    if pair.callable in NEEDS_IMPORTING_KIND and pair.kind not in ("pytest", "unittest", "evaluator"):
        return False
    if pair.callable == "lru_cache" and pair.place.startswith(("written", "callback", "yielded", "generator", "iterator", "mapped", "coroutine", "async", "raised", "module_global", "context", "class_attribute")):
        return False
    if pair.callable == "instances":
        # The right twin needs a class of its own as well.
        return lie.form == "sub" and pair.place == "direct" and lie.base in ("list", "dict", "set", "int", "float", "str", "tuple", "bytes") and task.type not in ("array", "farray", "bool")
    if pair.callable == "send" and (task.type == "raises" or lie.form == "raise" or pair.place.startswith("raised")):
        return False  # an exception ends the generator, the honest one too
    return True
