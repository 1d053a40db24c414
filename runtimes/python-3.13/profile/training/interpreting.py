"""A language written in the language: tokens, a recursive-descent parser, a tree walker and a stack machine."""

from dataclasses import dataclass


@dataclass
class Token:
    kind: str
    text: str


class Lexer:
    KEYWORDS = {"while", "if", "else", "print", "let", "end"}

    def __init__(self, source):
        self.source = source
        self.position = 0

    def tokens(self):
        while self.position < len(self.source):
            c = self.source[self.position]
            if c.isspace():
                self.position += 1
            elif c.isdigit():
                yield Token("number", self.take(str.isdigit))
            elif c.isalpha():
                word = self.take(str.isalnum)
                yield Token(word if word in self.KEYWORDS else "name", word)
            else:
                self.position += 1
                if c in "<>=!" and self.source[self.position : self.position + 1] == "=":
                    self.position += 1
                    c += "="
                yield Token("operator", c)
        yield Token("eof", "")

    def take(self, accept):
        start = self.position
        while self.position < len(self.source) and accept(self.source[self.position]):
            self.position += 1
        return self.source[start : self.position]


class Parser:
    LEVELS = [("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%")]

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.index = 0

    @property
    def current(self):
        return self.tokens[self.index]

    def advance(self):
        token = self.tokens[self.index]
        self.index += 1
        return token

    def expect(self, text):
        if self.current.text != text:
            raise SyntaxError(f"expected {text!r}, found {self.current.text!r}")
        return self.advance()

    def block(self):
        statements = []
        while self.current.kind not in ("end", "else", "eof"):
            statements.append(self.statement())
        return statements

    def statement(self):
        token = self.advance()
        if token.kind == "let":
            name = self.advance().text
            self.expect("=")
            return ("let", name, self.expression())
        if token.kind == "print":
            return ("print", self.expression())
        if token.kind == "while":
            condition, body = self.expression(), self.block()
            self.expect("end")
            return ("while", condition, body)
        if token.kind == "if":
            condition, then, otherwise = self.expression(), self.block(), []
            if self.current.kind == "else":
                self.advance()
                otherwise = self.block()
            self.expect("end")
            return ("if", condition, then, otherwise)
        raise SyntaxError(token.text)

    def expression(self, level=0):
        if level == len(self.LEVELS):
            return self.atom()
        left = self.expression(level + 1)
        while self.current.text in self.LEVELS[level]:
            operator = self.advance().text
            left = ("binary", operator, left, self.expression(level + 1))
        return left

    def atom(self):
        token = self.advance()
        if token.kind == "number":
            return ("number", int(token.text))
        if token.kind == "name":
            return ("name", token.text)
        if token.text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if token.text == "-":
            return ("binary", "-", ("number", 0), self.atom())
        raise SyntaxError(token.text)


OPERATIONS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b,
    "%": lambda a, b: a % b, "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}


class Walker:
    def __init__(self):
        self.variables = {}
        self.output = []

    def run(self, statements):
        for statement in statements:
            getattr(self, "do_" + statement[0])(*statement[1:])

    def do_let(self, name, value):
        self.variables[name] = self.value(value)

    def do_print(self, value):
        self.output.append(str(self.value(value)))

    def do_while(self, condition, body):
        while self.value(condition):
            self.run(body)

    def do_if(self, condition, then, otherwise):
        self.run(then if self.value(condition) else otherwise)

    def value(self, node):
        match node:
            case ("number", number):
                return number
            case ("name", name):
                return self.variables[name]
            case ("binary", operator, left, right):
                return OPERATIONS[operator](self.value(left), self.value(right))


class Compiler:
    def __init__(self):
        self.code = []

    def emit(self, *instruction):
        self.code.append(list(instruction))
        return len(self.code) - 1

    def block(self, statements):
        for kind, *rest in statements:
            if kind == "let":
                self.value(rest[1])
                self.emit("store", rest[0])
            elif kind == "print":
                self.value(rest[0])
                self.emit("print", None)
            elif kind == "while":
                start = len(self.code)
                self.value(rest[0])
                leave = self.emit("jump_unless", None)
                self.block(rest[1])
                self.emit("jump", start)
                self.code[leave][1] = len(self.code)
            else:
                self.value(rest[0])
                leave = self.emit("jump_unless", None)
                self.block(rest[1])
                over = self.emit("jump", None)
                self.code[leave][1] = len(self.code)
                self.block(rest[2])
                self.code[over][1] = len(self.code)
        return self.code

    def value(self, node):
        if node[0] == "binary":
            self.value(node[2])
            self.value(node[3])
            self.emit("binary", node[1])
        else:
            self.emit("push" if node[0] == "number" else "load", node[1])


def execute(code):
    stack, variables, output, counter = [], {}, [], 0
    while counter < len(code):
        operation, argument = code[counter]
        counter += 1
        if operation == "push":
            stack.append(argument)
        elif operation == "load":
            stack.append(variables[argument])
        elif operation == "store":
            variables[argument] = stack.pop()
        elif operation == "binary":
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATIONS[argument](left, right))
        elif operation == "jump":
            counter = argument
        elif operation == "jump_unless":
            if not stack.pop():
                counter = argument
        elif operation == "print":
            output.append(str(stack.pop()))
    return output


PROGRAM = """
let a = 0 let b = 1 let n = 0
while n < 60
    let c = a + b let a = b let b = c
    if c % 2 == 0 print c else let even = (c - 1) / 2 end
    let n = n + 1
end
let i = 2
while i * i < 900
    let j = 2 let prime = 1
    while j < i if i % j == 0 let prime = 0 end let j = j + 1 end
    if prime print i * -1 end
    let i = i + 1
end
"""

for repetition in range(5):
    tree = Parser(Lexer(PROGRAM).tokens()).block()
    walker = Walker()
    walker.run(tree)
    assert walker.output == execute(Compiler().block(tree))
