"""The functions of the package Levenshtein by those of rapidfuzz in Python: its own are compiled, and its licence is the GPL.

There are no medians of strings (`median`, `quickmedian`, `setmedian` …)."""

from rapidfuzz.distance import Editops as _Editops
from rapidfuzz.distance import Hamming as _Hamming
from rapidfuzz.distance import Indel as _Indel
from rapidfuzz.distance import Jaro as _Jaro
from rapidfuzz.distance import JaroWinkler as _JaroWinkler
from rapidfuzz.distance import Levenshtein as _Levenshtein
from rapidfuzz.distance import Opcodes as _Opcodes

__version__ = "0.27.5"
__all__ = [
    "apply_edit", "distance", "editops", "hamming", "inverse", "jaro", "jaro_winkler", "matching_blocks", "opcodes", "ratio",
    "seqratio", "setratio", "subtract_edit",
]  # fmt: skip


def distance(s1, s2, *, weights=(1, 1, 1), processor=None, score_cutoff=None, score_hint=None):
    return _Levenshtein.distance(s1, s2, weights=weights, processor=processor, score_cutoff=score_cutoff, score_hint=score_hint)


def ratio(s1, s2, *, processor=None, score_cutoff=None):
    return _Indel.normalized_similarity(s1, s2, processor=processor, score_cutoff=score_cutoff)


def hamming(s1, s2, *, pad=True, processor=None, score_cutoff=None):
    return _Hamming.distance(s1, s2, pad=pad, processor=processor, score_cutoff=score_cutoff)


def jaro(s1, s2, *, processor=None, score_cutoff=None):
    return _Jaro.similarity(s1, s2, processor=processor, score_cutoff=score_cutoff)


def jaro_winkler(s1, s2, *, prefix_weight=0.1, processor=None, score_cutoff=None):
    return _JaroWinkler.similarity(s1, s2, prefix_weight=prefix_weight, processor=processor, score_cutoff=score_cutoff)


def _length(text):
    return text if isinstance(text, int) else len(text)


def editops(*args):
    """`editops(s1, s2)`, or of opcodes or editops, with the strings or their lengths."""
    if len(args) == 3:
        return _converted(_Editops, *args).as_list()
    return _Levenshtein.editops(*args).as_list()


def opcodes(*args):
    """`opcodes(s1, s2)`, or of editops or opcodes, with the strings or their lengths."""
    if len(args) == 3:
        return _converted(_Opcodes, *args).as_list()
    return _Levenshtein.opcodes(*args).as_list()


def _converted(kind, operations, source, target):
    lengths = _length(source), _length(target)
    made = (_Opcodes if operations and len(operations[0]) == 5 else _Editops)(list(operations), *lengths)
    return made if isinstance(made, kind) else kind(list(made.as_editops() if kind is _Editops else made.as_opcodes()), *lengths)


def matching_blocks(edit_operations, source_string, destination_string):
    return _converted(_Editops, edit_operations, source_string, destination_string).as_matching_blocks()


def apply_edit(edit_operations, source_string, destination_string):
    if not edit_operations:
        return source_string
    return _converted(_Editops, edit_operations, source_string, destination_string).apply(source_string, destination_string)


def subtract_edit(edit_operations, subsequence):
    length = 2**31
    return (
        _Editops(list(edit_operations), length, length).remove_subsequence(_Editops(list(subsequence), length, length)).as_list()
    )


def inverse(edit_operations):
    if not edit_operations:
        return []
    length = 2**31
    kind = _Opcodes if len(edit_operations[0]) == 5 else _Editops
    if kind is _Opcodes:
        _, _, source, _, target = edit_operations[-1]
        return kind(list(edit_operations), source, target).inverse().as_list()
    return kind(list(edit_operations), length, length).inverse().as_list()


def setratio(strlist1, strlist2):
    """Similarity of two sets of strings, the best pairs of which count."""
    first, second = sorted((list(strlist1), list(strlist2)), key=len)
    total = len(first) + len(second)
    if not total:
        return 1.0
    return (total - _paired_distance(first, second)) / total


def _paired_distance(first, second):
    """The least sum of distances, from 0 to 1 each, of pairs, where what is left alone counts 1 each."""
    costs = [[1 - ratio(a, b) for b in second] for a in first]
    # The Hungarian method, by rows.
    rows, columns = len(first), len(second)
    over, under = [0.0] * (rows + 1), [0.0] * (columns + 1)
    match = [0] * (columns + 1)
    for row in range(1, rows + 1):
        match[0], column = row, 0
        least, used, way = [float("inf")] * (columns + 1), [False] * (columns + 1), [0] * (columns + 1)
        while True:
            used[column] = True
            current, delta, following = match[column], float("inf"), 0
            for each in range(1, columns + 1):
                if not used[each]:
                    cost = costs[current - 1][each - 1] - over[current] - under[each]
                    if cost < least[each]:
                        least[each], way[each] = cost, column
                    if least[each] < delta:
                        delta, following = least[each], each
            for each in range(columns + 1):
                if used[each]:
                    over[match[each]] += delta
                    under[each] -= delta
                else:
                    least[each] -= delta
            column = following
            if match[column] == 0:
                break
        while column:
            match[column], column = match[way[column]], way[column]
    paired = sum(costs[match[each] - 1][each - 1] for each in range(1, columns + 1) if match[each])
    return 2 * paired + columns - rows


def seqratio(strlist1, strlist2):
    """Similarity of two sequences of strings, edited one by one."""
    first, second = list(strlist1), list(strlist2)
    total = len(first) + len(second)
    if not total:
        return 1.0
    row = [float(index) for index in range(len(second) + 1)]
    for number, a in enumerate(first, 1):
        last, row[0] = row[0], float(number)
        for index, b in enumerate(second, 1):
            cost = min(row[index] + 1, row[index - 1] + 1, last + 2 * (1 - ratio(a, b)))
            last, row[index] = row[index], cost
    return (total - row[-1]) / total
