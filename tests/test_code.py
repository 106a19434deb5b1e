"""CodeChunker: definitions, their comments and decorators, the headers of classes, every grammar."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import rapidchunk as rc
from rapidchunk.chunkers.code import LANGUAGES

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
    from rapidchunk.chunkers import code as module

    module._grammar.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[code\]"):
        rc.CodeChunker("go")
