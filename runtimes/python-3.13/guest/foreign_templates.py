"""Templates, configurations and queries in the tests' interpreter: those of the candidate reach nothing but what they are given."""

import importlib
import keyword
import sys
import tokenize

import _proofbox_foreign_text as foreign_text
import _proofbox_origins as origins
import _proofbox_packages as packages
import _proofbox_proxies as proxies
import _proofbox_side as side


def guard(texts):
    """Prepares the libraries that the tests speak of."""
    if (texts.mention("jinja2") or texts.mention("flask")) and packages.is_known("jinja2"):
        _guard_jinja(texts)
    if any(map(texts.mention, ("logging.config", "dictConfig", "fileConfig"))):
        _guard_logging(texts)
    if texts.mention("yaml") and packages.is_known("yaml"):
        _guard_yaml()
    if texts.mention("pandas") and (texts.mention("query") or texts.mention("eval")) and packages.is_known("pandas"):
        _guard_pandas(texts)


def _guard_jinja(texts):
    from jinja2 import environment, sandbox

    compile_ = environment.Environment.compile

    def compile(self, source, name=None, filename=None, raw=False, defer_init=False):
        if not isinstance(self, sandbox.SandboxedEnvironment) and not (isinstance(source, str) and texts.is_own(source)):
            if not (filename and filename.startswith("/lib/")):
                _put_in_sandbox(self, sandbox)
        return compile_(self, source, name, filename, raw, defer_init)

    environment.Environment.compile = compile


def _put_in_sandbox(environment, sandbox):
    """Has the environment refuse what leads from values to code. Templates of the tests that use such fail, too."""
    kind = type(environment)
    environment.__class__ = type(kind.__name__, (sandbox.SandboxedEnvironment, kind), {"__module__": kind.__module__})
    environment.globals["range"] = sandbox.safe_range
    environment.binop_table = environment.default_binop_table.copy()
    environment.unop_table = environment.default_unop_table.copy()


def _guard_logging(texts):
    import logging.config

    resolve_ = logging.config.BaseConfigurator.resolve
    configure_ = logging.config.BaseConfigurator.configure_custom
    handler_ = logging.config.DictConfigurator.configure_handler
    resolve_class_ = logging.config._resolve

    def resolve_class(name):
        # Whatever it is will be called with texts of the configuration.
        if not (texts.is_own(name) or _is_of_logging(name, (logging.Formatter, logging.Handler))):
            if not (type(name) is str and name.partition(".")[0] in side.state.candidate.roots):
                side.refuse("text_of_the_candidate", f"class {name!r} in a configuration of the candidate")
        return resolve_class_(name)

    def configure_handler(self, config):
        kind = config.get("class")
        if type(kind) is str and not texts.is_own(kind) and kind.partition(".")[0] not in side.state.candidate.roots:
            is_handler = _is_of_logging(kind, logging.Handler)
        elif isinstance(kind, type) and type(kind) is not proxies.ProxyType:
            is_handler = issubclass(kind, logging.Handler)
        else:
            is_handler = True
        if not is_handler:
            side.refuse("text_of_the_candidate", f"{kind!r} as a handler in a configuration of the candidate")
        return handler_(self, config)

    def resolve(self, s):
        if not (texts.is_own(s) or s in _STREAMS or s.startswith("logging.") and _is_of_logging(s)):
            if s.partition(".")[0] not in side.state.candidate.roots:
                side.refuse("text_of_the_candidate", f"{s!r} in a configuration of the candidate")
        return resolve_(self, s)

    def configure_custom(self, config):
        factory = config.get("()")
        if isinstance(factory, type) and type(factory) is not proxies.ProxyType and origins.is_of_library(factory):
            if not factory.__module__.startswith("logging") and not foreign_text.is_plain_class(factory):
                if not (texts.is_own(factory.__name__) or texts.mention(factory.__name__)):
                    side.refuse("text_of_the_candidate", f"{factory.__name__} in a configuration of the candidate")
        return configure_(self, config)

    logging.config.BaseConfigurator.resolve = resolve
    logging.config.BaseConfigurator.configure_custom = configure_custom
    logging.config.DictConfigurator.configure_handler = configure_handler
    logging.config._resolve = resolve_class


_STREAMS = frozenset({"sys.stdout", "sys.stderr"})


def _is_of_logging(path, base=object):
    """Returns whether the path names a class of package logging that derives from `base`."""
    module, _, name = path.rpartition(".") if type(path) is str else ("", "", "")
    if module not in ("logging", "logging.handlers"):
        return False
    found = vars(importlib.import_module(module)).get(name)
    return isinstance(found, type) and found.__module__.startswith("logging") and issubclass(found, base)


def _guard_yaml():
    """Loaders that make objects of any class make plain values here."""
    from yaml import constructor

    import _proofbox_foreign_pickles as foreign_pickles

    def find_python_name(self, name, mark, unsafe=False):
        module, _, name = name.rpartition(".")
        return foreign_pickles.find(module or "builtins", name)

    def find_python_module(self, name, mark, unsafe=False):
        side.refuse("text_of_the_candidate", f"module {name} in a text of the candidate")

    set_state_ = constructor.FullConstructor.set_python_instance_state
    construct_ = constructor.FullConstructor.construct_python_object_apply

    def set_python_instance_state(self, instance, state, unsafe=False):
        if foreign_pickles.is_made_by_state(instance):
            made[id(instance)] = instance, foreign_pickles.made_by_state(instance, state)
        else:
            set_state_(self, instance, state, unsafe)

    def construct_python_object_apply(self, suffix, node, newobj=False):
        instance = construct_(self, suffix, node, newobj)
        return made.pop(id(instance), (None, instance))[1]

    made = {}  # by id, an object that is given no state, and what is made instead
    constructor.FullConstructor.find_python_name = find_python_name
    constructor.FullConstructor.find_python_module = find_python_module
    constructor.FullConstructor.set_python_instance_state = set_python_instance_state
    constructor.FullConstructor.construct_python_object_apply = construct_python_object_apply
    apply = "tag:yaml.org,2002:python/object/apply:"
    constructor.UnsafeConstructor.yaml_multi_constructors[apply] = construct_python_object_apply


def _guard_pandas(texts):
    """Texts of `query` and `eval` see columns, and names that they are given; not what the tests' functions and modules hold."""
    from pandas.core.computation import expr, parsing, scope

    init_ = expr.Expr.__init__

    def init(self, text, engine="numexpr", parser="pandas", env=None, level=0):
        if not texts.is_own(text):
            _check_query(text, parsing.tokenize_string)
            given = sys._getframe(1).f_locals  # of pandas.eval
            env = env or scope.Scope(level + 1)
            names = [given.get(name) or {} for name in ("local_dict", "global_dict")]
            names = [each.scope if isinstance(each, scope.Scope) else each for each in names]
            env.scope = type(env.scope)(*map(dict, names), dict(scope.DEFAULT_GLOBALS))
        init_(self, text, engine, parser, env, level)

    expr.Expr.__init__ = init


def _check_query(text, tokens_of):
    if type(text) is not str:
        side.refuse("text_of_the_candidate", "a query that is no text")
    before = ""  # the token before, if a parenthesis after it would be a call
    for kind, token in tokens_of(text):
        if token in ("@", ".") or token.startswith("__") or token == "(" and before:
            side.refuse("text_of_the_candidate", f"{token!r} in a query of the candidate")
        if token.strip():
            is_operator = kind == tokenize.OP and token not in (")", "]", "}") or keyword.iskeyword(token)
            before = "" if is_operator else token
