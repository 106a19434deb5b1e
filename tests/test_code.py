"""CodeChunker: definitions, their comments and decorators, the headers of classes, every grammar."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import rapidchunk as rc
from rapidchunk.chunkers.grammars import LANGUAGES

SOURCES = {
    "python": (
        "import os\n\n@deco\ndef f(x):\n    return x\n\n# about K\nclass K:\n    def m(self):\n        return 1\n",
        "f K",
    ),
    "javascript": ("const f = (x) => {\n  return x;\n};\n/** d */\nexport class K {\n  m() { return 1; }\n}\n", "f K"),
    "typescript": ("interface I { a: string }\nexport function f(): number {\n  return 1;\n}\n", "I f"),
    "tsx": ("export const V = () => {\n  return <p>x</p>;\n};\nenum E { A, B }\n", "V E"),
    "java": ("import a.B;\n/** doc */\n@Deprecated\npublic class K {\n  int f() { return 1; }\n}\n", "K"),
    "c": (
        "#ifndef H\n#define H\n/* f */\nstatic int *f(int a) {\n  return 0;\n}\nstruct P { int x; };\n#endif\n",
        "f P",
    ),
    "cpp": ("#include <x>\ntemplate <class T>\nclass K {\n  T f();\n};\nint K::g() { return 1; }\n", "K K::g"),
    "csharp": ("using X;\nclass K {\n  int F() { return 1; }\n}\nenum E { A }\n", "K E"),
    "go": (
        "package p\n\n// F does.\nfunc F() int { return 1 }\n\ntype T struct{ a int }\n\nfunc (t *T) M() {}\n",
        "F T M",
    ),
    "rust": ("/// d\n#[inline]\nfn f() -> i32 { 1 }\nstruct S;\nimpl S { fn m(&self) {} }\n", "f S S"),
    "ruby": ("require 'x'\n# d\ndef f\n  1\nend\nclass K\n  def m; end\nend\n", "f K"),
    "php": ("<?php\nfunction f() { return 1; }\nclass K { function m() {} }\n", "f K"),
    "kotlin": ("import a.B\n// d\n@A\nclass K : B() {\n  fun f() = 1\n}\nfun String.g() = 2\nobject O\n", "K g O"),
    "scala": ("package a\n/** d */\nobject O {\n  def f = 1\n}\ntrait T\ncase class C(a: Int)\ndef g = 1\n", "O T C g"),
    "swift": ("import A\n/// d\n@objc class K: B {\n  func f() {}\n}\nprotocol P {}\nfunc g() {}\n", "K P g"),
    "lua": (
        "local M = {}\n-- d\nfunction M.f(a) return a end\nM.g = function() end\nlocal function h() end\n",
        "M.f M.g h",
    ),
    "bash": ("set -e\n# d\nf() {\n  echo 1\n}\ng() { f; }\n", "f g"),
}


def code(text, size, language="python", **options):
    return list(rc.CodeChunker(language, size, tokenizer="chars", **options)(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_grammar(language):
    text, names = SOURCES[language]
    rows = code(text, 400, language)
    assert [name for row in rows for name in row.metadata["names"]] == names.split()
    assert all(row.metadata["kind"] != "module" for row in rows if row.metadata["name"])


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        (
            "swift",
            "struct S { let a: Int }\nenum E { case a }\nextension K: R { func z() {} }\nactor A {}\n",
            "struct enum extension actor",
        ),
        (
            "kotlin",
            "interface I {\n  fun q()\n}\nenum class E {\n  A\n}\nobject O {\n  fun z() {}\n}\nclass C\n",
            "interface class object class",
        ),
    ],
)
def test_kinds_of_classes(language, text, kinds):
    assert [row.metadata["kind"] for row in code(text, 40, language)] == kinds.split()


def test_decorators_and_comments_stay():
    text = "x = 1\n\n# old\n\n# why\n# more\n@a\n@b(1)\ndef f():\n    pass\n\ny = 2  # two\ndef g(): pass\n"
    rows = code(text, 60)
    assert [row.text for row in rows] == [
        "x = 1\n\n# old",
        "# why\n# more\n@a\n@b(1)\ndef f():\n    pass",
        "y = 2  # two",
        "def g(): pass",
    ]
    lines = [(row.metadata["start_line"], row.metadata["end_line"]) for row in rows]
    assert lines == [(1, 3), (5, 10), (12, 12), (13, 13)]


def test_a_long_class_keeps_its_header():
    text = 'class K(Base):\n    """About it."""\n\n    def m(self):\n        return 1\n\n    def n(self):\n        return 22\n'
    rows = code(text, 70)
    assert [row.metadata["headings"] for row in rows] == [("K",), ("K", "m"), ("K", "n")]
    assert [row.metadata["kind"] for row in rows] == ["class", "method", "method"]
    assert rows[1].context == "class K(Base):\ndef m(self):\n        return 1"
    assert len(code(text, 200)) == 1


def test_a_long_function_repeats_its_signature():
    text = "class K:\n    def m(self, a):\n" + "".join(f"        x{i} = {i}\n" for i in range(30))
    rows = code(text, 100)
    assert rows[1].context.startswith("class K:\ndef m(self, a):\n")
    assert all(len(row.context) <= 100 for row in rows)
    assert all("x" in row.text.split("\n")[-1] for row in rows)  # cut at lines


def test_a_header_alone_goes_with_the_first_member():
    (first, _) = code("class A {\n  m() { return 1; }\n  n() { return 2; }\n}\n", 35, "js")
    assert first.text == "class A {\n  m() { return 1; }"
    assert first.metadata["headings"] == ("A", "m")
    assert (first.metadata["name"], first.metadata["names"], first.metadata["kind"]) == ("m", ["A", "m"], "method")


def test_every_piece_of_a_long_class_has_its_header_once():
    text = (
        "class K:\n" + "".join(f"    a{i} = {i}\n" for i in range(20)) + "\n    # why\n    def m(self):\n        pass\n"
    )
    rows = code(text, 80)
    assert [row.context.startswith("class K:\n") for row in rows] == [True] * len(rows)
    assert [row.context.count("class K:") for row in rows] == [1] * len(rows)
    text = "# " + "a" * 40 + "\n\ndef g(x):\n    return x\n"
    text = "def f(): pass\n\n" + text
    _, comment, function = code(text, 60)  # the comment goes with g, and has no room with it
    assert (comment.metadata["name"], function.metadata["name"]) == ("g", "g")
    assert function.context == function.text == "def g(x):\n    return x"


def test_comments_after_a_definition_are_about_the_next():
    text = "def f():\n    return 1\n    # of f\n\n# ---- section ----\n\n# about g\ndef g():\n    return 22\n"
    rows = code(text, 60)
    assert [row.text.splitlines()[0] for row in rows] == ["def f():", "# ---- section ----"]
    assert rows[0].text.endswith("# of f")
    text = "module M\n  # about C\n  class C\n    def a; end\n    def <=>(o); end\n    def b=(x); end\n  end\nend\n"
    rows = code(text, 50, "ruby")
    assert rows[0].text == "module M\n  # about C\n  class C\n    def a; end"
    assert [name for row in rows for name in row.metadata["names"]] == ["M", "C", "a", "<=>", "b="]
    assert rows[1].context == "module M\nclass C\ndef <=>(o); end"


def test_methods_outside_of_their_type():
    text = "package p\n\ntype T struct{ a int }\n\nfunc (t *T) M() {}\n\nfunc (Q[K]) N() {}\n"
    rows = code(text, 30, "go")
    paths = [(row.metadata["headings"], row.metadata["kind"]) for row in rows if row.metadata["name"]]
    assert paths == [(("T",), "type"), (("T", "M"), "method"), (("Q", "N"), "method")]


def test_functions_that_are_assigned():
    text = (
        "/** Sends. */\nres.send = function send(body) {\n  return body;\n};\n"
        "module.exports = {\n  a() {\n    return 1;\n  },\n  // two\n  b: (x) => {\n    return x;\n  },\n};\n"
        "class K {\n  f = () => 1;\n}\n"
    )
    rows = code(text, 70, "js")
    assert rows[0].text.startswith("/** Sends. */")
    found = [(row.metadata["name"], row.metadata["kind"]) for row in rows]
    assert found == [("res.send", "function"), ("a", "method"), ("b", "method"), ("K", "class")]
    assert rows[1].metadata["headings"] == ("module.exports", "a")
    assert rows[2].context.startswith("module.exports = {\n// two")


def test_definitions_in_branches_and_wrapped_modules():
    text = "if nt:\n    def f():\n        return 'aaaaaaaa'\nelse:\n    def f():\n        return 'bbbbbbbb'\n\nx = 1\n"
    rows = code(text, 60)
    assert [(row.metadata["name"], row.text[:6]) for row in rows] == [("f", "if nt:"), ("f", "def f("), (None, "x = 1")]
    text = "(function (root) {\n  'use strict';\n\n  // f\n  function f(a) {\n    return a;\n  }\n})(this);\n"
    assert [row.metadata["name"] for row in code(text, 60, "js")] == [None, "f"]
    text = 'void f() {}\nextern "C" {\n  void g() {}\n  void h() {}\n}\n'
    assert [row.text for row in code(text, 28, "cpp")] == [
        "void f() {}",
        'extern "C" {\n  void g() {}',
        "void h() {}\n}",
    ]


def test_what_only_names_something_is_no_definition():
    php = "<?php\nnamespace A;\nuse B;\nclass C {\n  private $x;\n  private $y;\n  function f() { return 1; }\n}\n"
    rows = code(php, 60, "php")
    assert [row.metadata["names"] for row in rows] == [[], ["C"], ["f"]]
    assert rows[1].text == "class C {\n  private $x;\n  private $y;"
    cpp = "class F;\n#define A 1\n#define B(x) x\n#define C(x) \\\n  do { x } while (0)\nint& a::b() { return p; }\n"
    names = [(row.metadata["name"], row.metadata["kind"]) for row in code(cpp, 40, "cpp")]
    assert names == [(None, "module"), ("C", "macro"), ("a::b", "function")]
    csharp = "class C {\n  int x;\n  public int P { get; set; }\n  static C operator +(C a, C b) { return a; }\n}\n"
    kinds = [(row.metadata["name"], row.metadata["kind"]) for row in code(csharp, 50, "csharp")]
    assert kinds == [("C", "class"), ("P", "property"), ("operator +", "method")]


def test_access_goes_with_the_member():
    text = "class K {\n public:\n  int f() { return 1; }\n\n private:\n  // g\n  int g() { return 2; }\n  int x;\n};\n"
    assert [row.text.split("\n")[0] for row in code(text, 45, "cpp")] == ["class K {", "private:", "int x;"]


def test_no_chunk_of_a_semicolon():
    text = "namespace a {\n\nclass EXPORT K : public L {\n public:\n  int x;\n};\n\nint f() { return 1; }\n\n}  // namespace a\n"
    rows = code(text, 60, "cpp")
    assert all(len(row.text) > 3 for row in rows) and "};" in "".join(row.text for row in rows)


def test_code_that_does_not_parse_is_cut_at_lines():
    text = "def f(x):\n    return (x +\n\nclass K\n    def m(self)\n        print 'x'\n\ndef g(:\n    pass\n"
    rows = code(text, 40)
    assert [row.text for row in rows] == [
        "def f(x):\n    return (x +",
        "class K\n    def m(self)",
        "print 'x'",
        "def g(:\n    pass",
    ]


def test_deep_nesting_and_long_lines():
    deep = "".join("    " * i + f"class C{i}:\n" for i in range(300)) + "    " * 300 + "x = 1\n"
    assert code(deep, 200)
    assert code("a=1;" * 20_000, 100)
    assert code("(" * 20_000, 100)


def test_parsers_in_many_threads():  # B337: x_deterministic
    texts = [f"def f{i}(x):\n    return x + {i}\n\n\ndef g{i}():\n    return 1\n" for i in range(64)]
    chunker = rc.CodeChunker("python", 60, tokenizer="chars")
    want = [chunker(text).texts() for text in texts]
    for threads in (1, 8):
        with ThreadPoolExecutor(threads) as pool:
            assert [chunks.texts() for chunks in pool.map(chunker, texts)] == want


def test_errors(monkeypatch):
    with pytest.raises(ValueError, match=r"language must be one of python.*not 'klingon'"):
        rc.CodeChunker("klingon")
    with pytest.raises(ValueError, match="language"):
        rc.CodeChunker(3)
    from rapidchunk.chunkers import grammars

    grammars.grammar.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[code\]"):
        rc.CodeChunker("go")
