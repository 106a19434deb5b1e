"""HtmlChunker: the text as a browser shows it, the heading path, encodings."""

from __future__ import annotations

import sys

import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidchunk.chunkers.html import _DROPPED, _written_out
from rapidchunk.kernels import cpu, reference

TAGS = [
    "p",
    "div",
    "h1",
    "h2",
    "section",
    "pre",
    "ul",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "b",
    "br",
    "img",
    "textarea",
    "body",
]
PARTS = [
    *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), " ", "\n", " some \t words ", "é", "&lt;", "&amp;nbsp;",
    "&nbsp;", "&", "&amp", '<img src="x" alt=" a &gt;  b ">', '<img alt="">', "<!-- <p> -->", "<!--", "<!x>", "<?",
    "<", ">", '"', "<a ",
]  # fmt: skip


def shown(html, **options):
    return rc.HtmlChunker(tokenizer="words", **options)(html).document_text(0)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a\n   b</p><p> c </p>", "a b\n\nc"),
        ("a <b>b</b>c<i> d</i> .", "a bc d ."),
        ("<pre>x\n  y</pre>z", "x\n  y\n\nz"),
        ("<ul><li>a<li>b <ul><li>c</ul></ul>", "a\nb\n\nc"),
        ("<table><tr><th>A<th>B<tr><td>1<td><b>2</b>x</table>", "A\tB\n1\t2x"),
        ("<table><tr><th><th>x<th>y<tr><th>r<td><td> <td>v<td><tr><td><td>w", "\tx\ty\nr\t\t\tv\n\tw"),
        ("<table><tr><td><p>a<p>b<td>c<td><table><tr><td>d<td>e</table>", "a\n\nb\n\nc\n\nd\te"),
        ("<dl><dt>t<dd>d</dl>", "t\nd"),
        ("<details><summary>s</summary>b</details>", "s\nb"),
        ("a<br> b", "a\nb"),
        ("a<div>b</div>c", "a\nb\nc"),
        ("&lt;p&gt; &eacute;&nbsp;&amp;amp;", "<p> é\u00a0&amp;"),
        ("<p>un<p>closed <b>bold", "un\n\nclosed bold"),
        ("a<script>b</script><style>c</style><nav>d</nav><!-- e -->f<template>g</template>", "af"),
        ("<title>t</title>a<p hidden>b</p><i style='color:red; DISPLAY: none'>c</i><i aria-hidden=true>d</i>", "a"),
        (
            "<p style='display : none !important'>a<p style='VISIBILITY:\thidden;'>b<p style='display:none;display:block'>c",
            "c",
        ),
        (
            "<p style='--display:none'>a<p style='content:\"display:none\"'>b<p style=x style='display:none'>c",
            "a\n\nb\n\nc",
        ),
        ("x<img src=a alt='a &gt; \"b\"'>y<img>z", 'x a > "b" yz'),
        ("", ""),
        ("<p> </p>\n", ""),
    ],
)
def test_text(html, text):
    assert shown(html) == text


def test_drop_takes_selectors():
    assert shown("<p>a<p class=ad>b", drop=[".ad"]) == "a"
    with pytest.raises(ValueError, match="drop must hold CSS selectors"):
        rc.HtmlChunker(drop=["p["])


def test_what_is_dropped_may_be_in_another_or_match_twice():
    inner = "<p hidden class=ad style='display:none'>a<b hidden>b</b></p>"
    for page in (inner, f"<div hidden>{inner}</div>", f"<div class=ad>{inner}<i aria-hidden=true>c</i></div>"):
        assert shown(f"<p>x</p>{page * 50}<p>y</p>", drop=[".ad", "p.ad", "b"]) == "x\n\ny"


def test_headings_and_section_elements():
    html = "<h1>A</h1>a<h2>B</h2>b<section><h1>C</h1>c<h2>D</h2>d</section>after<h2>E <i>e</i></h2><h3></h3>e<h1>F</h1>"
    chunks = rc.HtmlChunker(tokenizer="words")(html)
    assert [(row.text.split("\n")[-1], row.metadata["headings"]) for row in chunks] == [
        ("a", ("A",)),
        ("b", ("A", "B")),
        ("c", ("A", "B", "C")),
        ("d", ("A", "B", "C", "D")),
        ("after", ("A", "B")),
        ("e", ("A", "E e")),
        ("F", ("F",)),
    ]


def test_prepended_headings():
    html = "<h1>A</h1><h2>B</h2><p>" + "word " * 30
    chunks = rc.HtmlChunker(12, tokenizer="words", prepend_headings=True)(html)
    assert chunks[0].text.startswith("A\n\nB\n\nword")
    assert chunks[1].context.startswith("A > B\n\nword")
    assert all(len(text.split()) <= 12 for text in chunks.contexts())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é".encode(), "é"),
        (b"\xef\xbb\xbf\xc3\xa9", "é"),
        ("é".encode("utf-16"), "é"),
        (b"<meta charset=iso-8859-1>\xe9\x80", "é€"),
        (b'<meta http-equiv=content-type content="text/html; charset=shift_jis">\x82\xa0', "あ"),
        (b"<meta charset=nonsense>\xc3\xa9", "é"),
        (b"\xff", "\ufffd"),
        ("<?xml version='1.0' encoding='iso-8859-2'?>\u0142".encode("iso8859-2"), "\u0142"),
        ("<?xml version='1.0'?>\u0142".encode("utf-16-le"), "\u0142"),
        (b"<!-- <meta charset=latin1> --><meta name=x content='charset=latin1'>\xc3\xa9", "é"),
        (b"<META name=a><META\nCHARSET='GB2312'>\xc4\xe3\x81\x30\x81\x30", "你\x80"),
        (b"<meta charset=x-sjis>\x87\x40", "①"),
        (b"<meta charset=windows-31j>\x87\x40", "①"),
        (b"<meta charset=ISO-8859-9>\xfd\x80", "ı€"),
        (b"<meta charset=undefined><meta charset=idna>\xc3\xa9", "é"),  # names of Python's own
        (b"<meta charset=utf-16><meta charset=latin1>\xc3\xa9", "é"),
        (b"<meta charset='\0'>\xc3\xa9", "é"),
    ],
)
def test_encodings(data, text):
    assert rc.HtmlChunker()(data).document_text(0) == text
    assert rc.HtmlChunker()([data, "x"]).document_text(0) == text


def test_many_tags_in_linear_time():
    for html in (
        "<div>" * 20_000,
        "<b>" * 5_000 + "x",
        "</p>" * 20_000,
        "<section><h2>a" * 3_000,
        "<" * 20_000,
        "&" * 20_000,
    ):
        rc.HtmlChunker(50)(html)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_kernel_equals_reference(html):
    from selectolax.lexbor import LexborHTMLParser

    for text in (html, LexborHTMLParser(html).html or ""):
        for tags in (["section", "div"], ["div", "p"]), ([], ["pre", "td", "h1"]):
            assert same(cpu.html_text(text, *tags), reference.html_text(text, *tags))


def same(a, b):
    return a[0] == b[0] and a[1].tolist() == b[1].tolist()


ELEMENTS = [
    *(
        "html",
        "head",
        "body",
        "title",
        "p",
        "div",
        "h1",
        "h2",
        "h3",
        "section",
        "article",
        "pre",
        "ul",
        "ol",
        "li",
        "dl",
    ),
    *(
        "dt",
        "dd",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
        "caption",
        "colgroup",
        "col",
        "b",
        "i",
        "a",
        "span",
        "em",
    ),
    *(
        "br",
        "hr",
        "img",
        "textarea",
        "form",
        "button",
        "select",
        "option",
        "nav",
        "template",
        "noscript",
        "svg",
        "object",
    ),
    *("canvas", "legend", "fieldset", "details", "summary", "label", "video", "math", "script", "style", "address"),
    *("center", "input", "link", "meta", "x-y"),
]
ATTRIBUTES = [
    *[""] * 6, " hidden", ' style="Display:None"', " aria-hidden='true'", ' alt="a &amp b&ltc &lt=d"', " a=b/", " /",
    ' style="display : none !important"', ' style=";visibility:HIDDEN;"', ' style="display:none;display:block"',
    ' style="--display:none"', ' hidden style="display:none"', " style=x style=display:none",
    " aria-hidden=false aria-hidden=true",
]  # fmt: skip
OTHERS = [
    "a", "b ", "\n", " ", "c &amp; d", "&#32;", "&#10;", "&#x93;", "&notit;", "&nbsp;", "é", "\r\n", "&", "<", "&#0;",
    "&copy", "1 < 2", "<!-- <p> -->", "<!-->", "<!--x--!>", "<!x>", "<?php ?>", "</>", "</ x>", "<![CDATA[x]]>",
]  # fmt: skip
PAGES = st.lists(
    st.one_of(
        st.builds("<{}{}>".format, st.sampled_from(ELEMENTS), st.sampled_from(ATTRIBUTES)),
        st.sampled_from(ELEMENTS).map("</{}>".format),
        st.sampled_from(OTHERS),
    ),
    max_size=14,
).map("".join)


# Hidden inline elements, well and badly nested.
INLINE = ["a", "b", "span", "i", "p", "div", "form", "legend", "nav", "li"]
HIDDEN_PAGES = st.lists(
    st.one_of(
        st.builds("<{}{}>".format, st.sampled_from(INLINE), st.sampled_from(["", " hidden"])),
        st.sampled_from(INLINE).map("</{}>".format),
        st.sampled_from(["x", " ", "<br>"]),
    ),
    max_size=14,
).map("".join)


@settings(max_examples=700, deadline=None)
@given(st.sampled_from(["", "<!doctype html>"]), PAGES | HIDDEN_PAGES)
def test_page_in_one_pass_equals_the_parsed_tree(doctype, html):
    tags = ["section", "article", "div"]
    read = cpu.html_page(doctype + html, tags)
    if read is not None:
        assert same(read, cpu.html_text(_written_out(doctype + html), tags, _DROPPED))


@pytest.mark.parametrize(
    "html",
    [
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>x</title><script>if (a<b) '</p>'</script></head><body>"
        "<nav><ul><li>a</ul></nav><main><h1>T <small>s</small></h1><p>a<p>b<ul><li>c<li>d</ul><table><tr><td>e<td>f</table>"
        "<p hidden>g</p><svg viewBox='0 0'><path d='M0'/></svg><form><label>x <input></label><select><option>h</select></form>"
        "<dl><dt>t<dd>d</dl><pre>\nx\n y</pre><img alt='&lt;i&gt;'>&mdash;<textarea>\nk</textarea></main></body></html>",
        "<P CLASS=x>Upper <B>case</B></P><BR><TABLE><TR><TD>1</TABLE>",
        "<h2>a<a aria-hidden=true href=#a><span>#</span><b>x</a></h2><nav><i hidden><div>b</div></i></nav>c<b hidden>d",
        "<!doctype html><html><head><title>a</title></head><body><p>b</body></html>\n"
        "<!doctype html PUBLIC '-//IETF//DTD HTML//EN'><html><head><meta charset=utf-8><title>c</title></head><body class=x>"
        "<p>d<table><tr><td>e</table></body></html>",
        "<span hidden><b><span>a</b></span>b",
    ],
)
def test_common_pages_are_read_in_one_pass(html):
    read = cpu.html_page(html)
    assert read is not None
    assert same(read, cpu.html_text(_written_out(html), [], _DROPPED))


@pytest.mark.parametrize(
    "html",
    [
        "<table>a</table>",
        "<h1>a<h2>b",
        "<math>a</math>",
        "a\0",
        "\ud800",
        "<p><table>",
        "<p><b hidden>a</p>b",
        "<b hidden><p>a</b>b",
        "<i><b hidden>a</i>b",
        "<form><i><b></i></form>a",
        "<p><b>a<form>b</form>c",
        "<span hidden><b><u></b></u>a</u>",
    ],
)
def test_pages_that_need_a_tree(html):
    assert cpu.html_page(html) is None
    assert rc.HtmlChunker()(html).documents == 1


def rows(n, cell="some words"):
    return "".join(f"<tr><td>n{i}<td>{cell} {i}</tr>" for i in range(n))


def test_long_tables_are_cut_between_rows_and_repeat_their_header():
    head = "<caption>C</caption><thead><tr><th>Name<th>Age</thead>"
    html = f"<h1>T</h1><p>before</p><table>{head}{rows(20, 'some<br>words')}</table>after"
    for prepend in (False, True):
        for within in (None, rc.SentenceChunker(20, tokenizer="words")):
            chunker = rc.HtmlChunker(20, tokenizer="words", prepend_headings=prepend, within=within)
            chunks = chunker(html)
            path = "T\n\n" * prepend
            assert chunks[0].text == "T\n\nbefore"
            assert chunks[1].text.startswith("C\nName\tAge\nn0\tsome")
            assert chunks[1].context.startswith(path + "C\nName")
            for row in list(chunks)[2:-1]:
                assert row.text.startswith("n") and row.text[-1].isdigit()
                assert row.context.startswith(path + "C\nName\tAge\n" + row.text[:4])
            assert chunks[-1].text == "after"
            assert "".join(chunks.texts()).count("\t") == 21
            assert all(len(text.split()) <= 20 for text in chunks.contexts())


def test_header_rows_without_thead():
    html = f"<table><tr><th>A<th>B</tr><tr><th>x<th>y</tr><tr><th>r<td>1</tr>{rows(9)}</table>"
    contexts = rc.HtmlChunker(16, tokenizer="words")(html).contexts()
    assert all(text.startswith("A\tB\nx\ty\n") for text in contexts) and len(contexts) > 2
    contexts = rc.HtmlChunker(16, tokenizer="words")(f"<table>{rows(9)}</table>").contexts()
    assert contexts[1].startswith("n4\t")


def test_tables_that_fit_stay_whole():
    cell = "<p>one</p><p>two</p>"
    html = f"<p>{'word ' * 12}</p><table>{rows(3, cell)}</table><p>{'word ' * 12}</p>"
    chunks = rc.HtmlChunker(20, tokenizer="words")(html)
    assert [text.count("two") for text in chunks.texts()] == [0, 3, 0]


def test_code_that_fits_stays_whole():
    code = "def f():\n    a = 1\n\n    return a\n\n\nf()"
    html = f"<h1>A</h1><p>{'word ' * 6}</p><pre>\n{code}\n</pre><p>between</p><pre><code>{code}</code></pre>"
    chunks = rc.HtmlChunker(12, tokenizer="words")(html)
    assert chunks.texts() == ["A\n\n" + "word " * 5 + "word", code, "between", code]


def test_code_too_long_is_cut_between_lines():
    html = (
        "<p>a</p><pre>"
        + "".join(f"x = {i};  y = {i}.  z = {i}\n{'' if i % 3 else chr(10)}" for i in range(30))
        + "</pre>b"
    )
    texts = rc.HtmlChunker(40, tokenizer="words")(html).texts()
    assert texts[0] == "a" and texts[-1] == "b" and len(texts) > 4
    assert all(text.startswith("x = ") and text.split("\n")[-1].count("=") == 3 for text in texts[1:-1])
    nested = f"<table><tr><td><pre>{'a b ' * 30}</pre></table><pre>x<table><tr><td>y</table>\n\nz</pre>"
    assert all(len(text.split()) <= 12 for text in rc.HtmlChunker(12, tokenizer="words")(nested).texts())


def test_a_row_too_long_is_cut_too():
    html = f"<table><tr><th>H</tr><tr><td>{'long ' * 50}</tr></table>"
    contexts = rc.HtmlChunker(20, tokenizer="words")(html).contexts()
    assert all(len(text.split()) <= 20 for text in contexts)
    assert sum(text.count("long") for text in contexts) == 50


def test_without_selectolax(monkeypatch):
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(ImportError, match=r"drop needs selectolax: .*rapidchunk\[html\]"):
        rc.HtmlChunker(drop=["p"])
    with pytest.raises(ValueError, match="section_tags"):
        rc.HtmlChunker(section_tags=["p"])
    chunker = rc.HtmlChunker()
    assert chunker(["<h1>a</h1>b"]).texts() == ["a\n\nb"]
    with pytest.raises(ImportError, match=r"texts: document 1: .* needs selectolax: .*rapidchunk\[html\]"):
        chunker(["a", "<h1>a<h2>b"])
