"""HtmlChunker: the text as a browser shows it, the heading path, encodings."""

from __future__ import annotations

import sys

import pytest
import rapidchunk as rc
from hypothesis import given, settings
from hypothesis import strategies as st
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
        ("<dl><dt>t<dd>d</dl>", "t\nd"),
        ("<details><summary>s</summary>b</details>", "s\nb"),
        ("a<br> b", "a\nb"),
        ("a<div>b</div>c", "a\nb\nc"),
        ("&lt;p&gt; &eacute;&nbsp;&amp;amp;", "<p> é\u00a0&amp;"),
        ("<p>un<p>closed <b>bold", "un\n\nclosed bold"),
        ("a<script>b</script><style>c</style><nav>d</nav><!-- e -->f<template>g</template>", "af"),
        ("<title>t</title>a<p hidden>b</p><i style='color:red; DISPLAY: none'>c</i><i aria-hidden=true>d</i>", "a"),
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
            assert cpu.html_text(text, *tags) == reference.html_text(text, *tags)


def test_without_selectolax(monkeypatch):
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(ImportError, match=r"rapidchunk\[html\]"):
        rc.HtmlChunker()
    with pytest.raises(ValueError, match="section_tags"):
        rc.HtmlChunker(section_tags=["p"])
