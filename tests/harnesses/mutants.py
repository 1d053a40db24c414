"""Mutants of programs: the same program with one operator or number changed."""

import ast

SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
         ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And}


class Mutation(ast.NodeTransformer):
    """Changes the place with this number; with none it counts the places."""

    def __init__(self, target=None):
        self.target, self.count = target, 0

    def hits(self):
        self.count += 1
        return self.count - 1 == self.target

    def swapped(self, operator):
        other = SWAPS.get(type(operator))
        return other() if other and self.hits() else operator

    def visit_BinOp(self, node):
        self.generic_visit(node)
        node.op = self.swapped(node.op)
        return node

    visit_BoolOp = visit_BinOp

    def visit_Compare(self, node):
        self.generic_visit(node)
        node.ops[0] = self.swapped(node.ops[0])
        return node

    def visit_Constant(self, node):
        if type(node.value) is int and self.hits():
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node


def mutant(code, chance):
    """A mutant of the program, the same for the same state of `chance`; none where there is nothing to change."""
    places = Mutation()
    places.visit(ast.parse(code))
    if not places.count:
        return None
    return ast.unparse(ast.fix_missing_locations(Mutation(chance.randrange(places.count)).visit(ast.parse(code))))
