//! Findings that the reader must make, and those that it must not. `tests/policy` has a thousand programs more, with
//! recall by family.

use std::time::{Duration, Instant};

use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

use super::{Analysis, analyze};
use crate::scanners::Capability;

fn reading(code: &str) -> Analysis {
    let parsed = parse_unchecked(code, ParseOptions::from(Mode::Module)).try_into_module();
    analyze(parsed.expect("a module was asked for").syntax(), code.len())
}

fn names(code: &str, capability: Capability) -> Vec<String> {
    reading(code).uses.into_iter().filter(|one| one.capability == capability).map(|one| one.name).collect()
}

fn folded(code: &str) -> Vec<String> {
    reading(code).texts.into_iter().filter(|text| text.folded).map(|text| text.text.to_string()).collect()
}

#[test]
fn a_name_is_followed_however_it_is_reached() {
    for code in [
        "import os\nos.system('id')",
        "import os as o\no.system('id')",
        "from os import system as s\ns('id')",
        "from os import *\nsystem('id')",
        "def f():\n    import os\n    return os\nf().system('id')",
        "__import__('os').system('id')",
        "import importlib\nimportlib.import_module('o' + 's').system('id')",
        "import sys\nsys.modules['os'].system('id')",
        "import os\ngetattr(os, 'sys' + 'tem')('id')",
        "import os\nvars(os)['system']('id')",
        "import os\nos.__dict__['system']('id')",
        "import os\na = b = os\n(c, d) = (1, b)\nd.system('id')",
        "import os\nd = {'run': os.system}\nd['run']('id')",
        "import os\nclass A:\n    def __init__(self): self.run = os.system\nA().run('id')",
        "import os\n(lambda o: o.system('id'))(os)",
        "import os\ndef f(o=os): o.system('id')",
        "import os\nfor f in [print, os.system]: f('id')",
        "import os\nlist(map(os.system, ['id']))",
        "import os\n@os.system\ndef f(): ...",
        "import os\nif (o := os): o.system('id')",
        "import operator, os\noperator.attrgetter('system')(os)('id')",
        "import operator, os\noperator.methodcaller('system', 'id')(os)",
        "import functools, os\nfunctools.partial(os.system, 'id')()",
        "import functools, os\nfunctools.reduce(getattr, ['system'], os)('id')",
        "import shutil\nshutil.os.system('id')",
        "import posix\nposix.system('id')",
        "exec('import os; os.system(1)')",
        "exec('exec(\\'import os; os.system(1)\\')')",
        "eval(compile('__import__(\"os\").system(1)', '', 'eval'))",
        "().__class__.__base__.__subclasses__()[0].__init__.__globals__['__builtins__']['__import__']('os').system('id')",
        "import os\n\u{ff4f}\u{ff53}.system('id')",
    ] {
        assert!(names(code, Capability::Process).contains(&"os.system".to_owned()), "{code}\n{:?}", reading(code).uses);
    }
}

#[test]
fn strings_are_folded_as_python_makes_them() {
    for (code, text) in [
        ("'ab' + 'cd' * 2", "abcdcd"),
        ("'-'.join(['ab', 'cd'])", "ab-cd"),
        ("'%s%s' % ('ab', 'cd')", "abcd"),
        ("'%(a)s!!' % {'a': 'ab'}", "ab!!"),
        ("'{}{x}'.format('ab', x='cd')", "abcd"),
        ("a = 'ab'\nf'{a}{\"cd\"}'", "abcd"),
        ("''.join(chr(c) for c in [97, 98, 99, 100])", "abcd"),
        ("''.join(map(chr, [97, 98, 99, 100]))", "abcd"),
        ("''.join(chr(ord(c) - 1) for c in 'bcde')", "abcd"),
        ("'dcba'[::-1]", "abcd"),
        ("'axbxcxdx'[:-1:2]", "abcd"),
        ("''.join(reversed('dcba'))", "abcd"),
        ("'aXcd'.replace('X', 'b').lower()", "abcd"),
        ("'bcde'.translate(str.maketrans('bcde', 'abcd'))", "abcd"),
        ("import base64\nbase64.b64decode('YWJjZA==').decode()", "abcd"),
        ("import base64\nbase64.b32decode('MFRGGZA=').decode()", "abcd"),
        ("import base64\nbase64.b85decode('VPa!s')", "abcd"),
        ("bytes.fromhex('61626364').decode()", "abcd"),
        ("import codecs\ncodecs.decode('nopq', 'rot13')", "abcd"),
        ("(1633837924).to_bytes(4, 'big').decode()", "abcd"),
        ("bytes([97, 98, 99, 100]).decode()", "abcd"),
        ("import zlib\nzlib.decompress(b'x\\x9cKLJN\\x01\\x00\\x03\\xd8\\x01\\x8b')", "abcd"),
        ("s = ''\nfor c in 'abcd':\n    s += c\ns + ''", "abcd"),
        ("s, i = '', 0\nwhile i < 4:\n    s = s + 'abcd'[i]\n    i += 1\ns + ''", "abcd"),
        ("l = []\nl.append('ab')\nl.append('cd')\n''.join(l)", "abcd"),
        ("d = {}\nd['a'] = 'ab'\nd['a'] + 'cd'", "abcd"),
        ("def f(s): return s[::-1]\nf('dc') + f('ba')", "cdab"),
        ("('ab' if 1 else 'x') + 'cd'", "abcd"),
    ] {
        assert!(folded(code).iter().any(|known| known == text), "{code}: {:?}", folded(code));
    }
}

#[test]
fn what_is_honest_shows_nothing_sure() {
    for code in [
        "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
        "import re\nre.compile('a+').match('aa')",
        "import platform\nplatform.system()",
        "class Robot:\n    def system(self): return 1\n    def run(self): return self.system()",
        "import ast\nast.literal_eval('[1]')",
        "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n    def __bool__(self):\n        return False",
        "import os.path\nos.path.join('a', 'b')",
        "def f(n):\n    if n == 0: return 0\n    if n == 1: return 1\n    if n == 2: return 1\n    return f(n - 1)",
        "import gc\ngc.collect()",
        "print(f'{{{1}}}', type(1).__name__)",
    ] {
        let sure: Vec<_> = reading(code).uses.into_iter().filter(|one| one.confidence >= 0.5).collect();
        assert!(sure.is_empty(), "{code}: {sure:?}");
    }
}

#[test]
fn shapes_that_cheat_are_named() {
    for (code, rule) in [
        ("class A:\n    def __eq__(self, o): return True", "constant_equality"),
        ("A = type('A', (), {'__eq__': lambda s, o: True})", "constant_equality"),
        ("import builtins\nbuiltins.sum = len", "replaced"),
        ("import unittest\nunittest.TestCase.assertEqual = print", "replaced"),
        ("class Q(SystemExit): pass", "uncatchable_exception"),
        ("A = iter([1])\ndef f(x): return next(A)", "answers_in_turn"),
        ("def f(x):\n    if x == 17: return 18\n    if x == 27: return 28\n    if x == 37: return 38", "known_answers"),
        ("__name__ = 'x'", "module_names"),
        ("'{0.__class__.__init__.__globals__}'.format(f)", "format_walk"),
    ] {
        assert!(reading(code).uses.iter().any(|one| one.rule == rule), "{code}: {:?}", reading(code).uses);
    }
}

#[test]
fn of_what_begins_at_one_place_the_surest_is_told() {
    let uses = reading("().__class__.__base__.__subclasses__()").uses;
    assert_eq!((uses.len(), uses[0].name.as_str(), uses[0].confidence), (1, "__subclasses__", 0.9));
}

#[test]
fn imports_are_listed_however_they_are_written() {
    let code = "import a.b as c\ndef f():\n    from d import e\n__import__('g.h')\nfrom . import i\nfrom ..j import k";
    let modules: Vec<String> = reading(code).imports.into_iter().map(|import| import.module).collect();
    assert_eq!(modules, ["a.b", "g.h", ".", "..j", "d"]);
}

#[test]
fn no_text_makes_it_slow_or_large() {
    let pieces = [
        "x = x + x\n",
        "for i in 'abcdefgh':\n    s = s + i\n",
        "x = 'a' * 60000\n",
        "len('a' * 60000)\n",
        "('a' * 60000)[0:1]\n",
        "''.join(reversed('a' * 8000))\n",
        "int('9' * 1000)\n",
        "f = lambda: f()\nf()\n",
        "def g(x): return g(x) + g(x)\ng(1)\n",
        "[a for a in range(500) for b in range(500)]\n",
        "x = [x, x]\n",
        "d = {'a': d}\n",
        "while 1 < 2:\n    x += 'a'\n",
        "exec('exec(1)')\n",
        "y = y.a.b.c\n",
        "z = '{}{}'.format(z, z)\n",
    ];
    for piece in pieces {
        let code = "s = x = d = y = z = 'a'\n".to_owned() + &piece.repeat((256 << 10) / piece.len());
        let begun = Instant::now();
        reading(&code);
        // Some 50 ms where nothing else runs; what is quadratic takes minutes.
        assert!(begun.elapsed() < Duration::from_secs(20), "{piece:?} {:?}", begun.elapsed());
    }
}
