"""A page that shows how a document is cut: self-contained HTML, without requests, for any browser."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterator, Sequence

import numpy as np

from rapidchunk.chunks import Chunks

__all__ = ["page"]

HUES = 4  # backgrounds that take turns
BARS = 24  # of the histogram
STEP = 6  # least pixels between points of a curve
PREVIEW = 90  # characters of a chunk in the list
RANGES = {"page": ("page_start", "page_end"), "line": ("start_line", "end_line")}
MONOSPACE = frozenset({"code", "api"})  # strategies for text that is aligned

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --mark: #b42318;
  --h0: #cfe5ff; --h1: #ffe3b8; --h2: #cdefd3; --h3: #ecd9fa; --chart: #2563a8; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --ink: #e8eaed; --soft: #a3acb6; --line: #3a424b;
  --mark: #ff9b8f; --h0: #17395f; --h1: #553a0c; --h2: #1b4a2a; --h3: #47305e; --chart: #7db7f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }
header { padding: 14px 20px; border-bottom: 1px solid var(--line); }
h1 { margin: 0 0 6px; font-size: 19px; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 13px; font-weight: 600; color: var(--soft); }
dl { display: flex; flex-wrap: wrap; gap: 4px 24px; margin: 0; }
dl div { display: flex; gap: 6px; }
dt { color: var(--soft); } dd { margin: 0; font-variant-numeric: tabular-nums; }
figure { margin: 12px 0 0; } .charts { display: flex; flex-wrap: wrap; gap: 0 32px; }
.charts figure { flex: 1 1 280px; min-width: 0; } .charts figure.wide { flex: 3 1 480px; }
svg { display: block; height: 90px; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; } .long { width: max-content; } .full svg { width: 100%; }
.scale { display: flex; justify-content: space-between; font-size: 12px; color: var(--soft); }
.bar { fill: var(--chart); } .curve { fill: none; stroke: var(--chart); stroke-width: 1.5; }
.cut { stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 4 3; } .curve, .cut { vector-effect: non-scaling-stroke; }
.key { color: var(--mark); font-weight: 400; }
main { display: grid; grid-template-columns: minmax(0, 1fr) 320px; }
#text { padding: 20px; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.75; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-left: 1px solid var(--line); }
nav ol { list-style: none; margin: 0; padding: 0; }
nav li { border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 84px; }
nav a { display: block; padding: 8px 12px 8px 10px; border-left: 8px solid; color: inherit; text-decoration: none; }
nav small { display: block; color: var(--soft); font-size: 12px; overflow-wrap: anywhere; }
nav bdi { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
nav a:hover, nav a.on { background: color-mix(in srgb, var(--chart) 16%, transparent); }
a:focus-visible, .scroll:focus-visible, #text b:target, #text:focus-visible {
  outline: 3px solid var(--chart); outline-offset: -3px; }
.c0 { --a: var(--h0); } .c1 { --a: var(--h1); } .c2 { --a: var(--h2); } .c3 { --a: var(--h3); }
.p0 { --b: var(--h0); } .p1 { --b: var(--h1); } .p2 { --b: var(--h2); } .p3 { --b: var(--h3); }
#text.mono { font: 13px/1.7 ui-monospace, monospace; }
#text span { background: var(--a); box-decoration-break: clone; -webkit-box-decoration-break: clone; padding: 2px 0; }
nav a { border-color: var(--a); }
#text span.o { background: repeating-linear-gradient(135deg, var(--b) 0 7px, var(--a) 7px 14px);
  text-decoration: underline 2px var(--mark); text-underline-offset: 3px; }
#text span.on { box-shadow: 0 2px 0 var(--chart), 0 -2px 0 var(--chart); }
#text b::before { content: attr(data-n); font: 600 11px/1 system-ui, sans-serif; color: var(--page); background: var(--ink);
  border-radius: 3px; padding: 1px 4px; margin: 0 3px 0 1px; vertical-align: 2px; }
#text b { scroll-margin-top: 40px; }
@media (max-width: 760px) { main { grid-template-columns: minmax(0, 1fr); }
  nav { position: static; height: 40vh; order: -1; border-left: 0; border-bottom: 1px solid var(--line); } }
@media print { main { display: block; } nav { display: none; } }
"""

# Shows which chunks are under the pointer or in focus; j and k, or n and p, go to the next and the previous chunk.
SCRIPT = """
const text = document.getElementById('text'), links = [...document.querySelectorAll('nav a')];
const parts = new Map();
for (const span of text.querySelectorAll('span[data-c]'))
  for (const n of span.dataset.c.split(' ')) { if (!parts.has(n)) parts.set(n, []); parts.get(n).push(span); }
let lit = [];
function show(numbers) {
  for (const element of lit) element.classList.remove('on');
  lit = numbers.flatMap(n => [links[n], ...(parts.get(n) || [])]);
  for (const element of lit) element.classList.add('on');
}
text.addEventListener('pointerover', event => {
  const span = event.target.closest('span[data-c]');
  show(span ? span.dataset.c.split(' ') : []);
});
links.forEach((link, n) => {
  for (const kind of ['pointerenter', 'focus']) link.addEventListener(kind, () => show([String(n)]));
});
document.addEventListener('keydown', event => {
  const step = { j: 1, n: 1, k: -1, p: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || !links.length) return;
  const next = Math.min(Math.max(links.indexOf(document.activeElement) + step, 0), links.length - 1);
  links[next].focus();
  document.getElementById('c' + next).scrollIntoView();  // following the link would take the focus off the list
});
"""


def page(
    chunks: Chunks,
    document: int = 0,
    *,
    title: str | None = None,
    similarity: Sequence[float] | np.ndarray | None = None,
    cuts: Sequence[int] | np.ndarray | None = None,
) -> str:
    """An HTML page of one document: its text with the chunks coloured, a list of them, and their figures.

    Of chunks on several levels, the finest are shown. The document's text cannot act on the page: it is escaped, and the
    page's content security policy allows the page's own style and script alone.

    Args:
        chunks: of any strategy.
        document: the number of the document in `chunks`.
        title: heading of the page; by default the document's id.
        similarity: float [sentences - 1], of neighbouring sentences, drawn as a curve; see `SemanticChunker.explain`.
        cuts: int [cuts], i for a cut between sentences i and i + 1, drawn on the curve.

    Raises:
        ValueError: `document` is out of range, or a cut lies outside `similarity`.
    """
    if not 0 <= document < chunks.documents:
        raise ValueError(f"document must be from 0 to {chunks.documents - 1}, not {document}")
    text = chunks.document_text(document)
    rows = _finest(chunks, document)
    name = str(chunks.document_id(document)) if title is None else title
    facts = [_facts(chunks, row, number) for number, row in enumerate(rows.tolist())]
    start, end, tokens = chunks.start[rows], chunks.end[rows], chunks.tokens[rows]
    charts = [_histogram(tokens)] if len(rows) else []
    if similarity is not None and len(similarity):
        charts.append(_curve(np.asarray(similarity, np.float64), np.asarray([] if cuts is None else cuts, np.int64)))
    policy = f"default-src 'none'; style-src '{_digest(STYLE)}'; script-src '{_digest(SCRIPT)}'; base-uri 'none'"
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width">\n',
            f"<title>{_escape(name)}: chunks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
            f"<header>\n<h1><bdi>{_escape(name)}</bdi></h1>\n{_statistics(chunks.strategy, text, start, end, tokens)}\n",
            f'<div class="charts">{"".join(charts)}</div>\n</header>\n<main>\n',
            f'<div id="text"{" class=mono" if chunks.strategy in MONOSPACE else ""} dir="auto" tabindex="0" role="region" ',
            'aria-label="Document">',
            *_marked(text, start, end, facts),
            '</div>\n<nav aria-label="Chunks"><ol>\n',
            *_list(text, start, end, facts),
            f"</ol></nav>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _finest(chunks: Chunks, document: int) -> np.ndarray:
    """The rows of a document that are nobody's parent, in the order of the text."""
    rows = np.flatnonzero(chunks.document == document)
    if "parent" in chunks.extra:
        rows = rows[~np.isin(chunks.index[rows], np.asarray(chunks.extra["parent"])[rows])]
    return rows[np.lexsort((chunks.end[rows], chunks.start[rows]))]


def _facts(chunks: Chunks, row: int, number: int) -> list[str]:
    """What is to be said about a chunk, in lines."""
    start, end, tokens = int(chunks.start[row]), int(chunks.end[row]), int(chunks.tokens[row])
    metadata = chunks[row].metadata
    lines = [f"Chunk {number}: {_count(tokens, 'token')}"]
    if metadata.get("headings"):
        lines.append(" > ".join(map(str, metadata["headings"])))
    places = [f"characters {start:,} to {end:,}"]
    for what, names in RANGES.items():
        first, last = (metadata.get(name) for name in names)
        if first is not None:
            places.append(f"{what} {first}" if first == last else f"{what}s {first} to {last}")
    lines.append(", ".join(places))
    if metadata.get("speakers"):
        lines.append(", ".join(map(str, metadata["speakers"])))
    if metadata.get("summary"):
        lines.append(str(metadata["summary"]))
    return lines


def _marked(text: str, start: np.ndarray, end: np.ndarray, facts: list[list[str]]) -> Iterator[str]:
    """The text in runs that the same chunks cover; before a run, the numbers of the chunks that begin there."""
    edges = np.unique(np.concatenate([[0, len(text)], start, end])).tolist()
    begins = np.searchsorted(start, edges).tolist()
    ends = end.tolist()
    covering: list[int] = []
    for edge, after, at in zip(edges[:-1], edges[1:], range(len(edges))):
        new = range(begins[at], begins[at + 1])
        covering = [number for number in covering if ends[number] > edge]
        covering += [number for number in new if ends[number] > edge]
        yield from (f'<b id="c{number}" data-n="{number}"></b>' for number in new)
        run = _escape(text[edge:after])
        if not covering:
            yield run
            continue
        hover = _escape("\n".join(line for number in covering for line in facts[number]))
        kind = f"c{covering[-1] % HUES}" + (f" o p{covering[-2] % HUES}" if len(covering) > 1 else "")
        yield f'<span class="{kind}" data-c="{" ".join(map(str, covering))}" title="{hover}">{run}</span>'


def _list(text: str, start: np.ndarray, end: np.ndarray, facts: list[list[str]]) -> Iterator[str]:
    for number, (first, last) in enumerate(zip(start.tolist(), end.tolist())):
        preview = " ".join(text[first : min(last, first + 4 * PREVIEW)].split())[:PREVIEW]
        lines = "".join(f"<small>{_escape(line)}</small>" for line in facts[number])
        yield f'<li><a class="c{number % HUES}" href="#c{number}">{lines}<bdi>{_escape(preview)}</bdi></a></li>\n'


def _statistics(strategy: str, text: str, start: np.ndarray, end: np.ndarray, tokens: np.ndarray) -> str:
    facts = {"strategy": strategy} if strategy else {}
    facts |= {"chunks": f"{len(tokens):,}", "characters": f"{len(text):,}"}
    if len(tokens):
        reach = np.maximum.accumulate(end)
        fresh = np.maximum(reach - np.maximum(start, np.append(0, reach[:-1])), 0)
        facts["tokens"] = (
            f"{tokens.min():,} to {tokens.max():,}, mean {tokens.mean():,.1f}, median {np.median(tokens):,.0f}"
        )
        facts["covered"] = f"{100 * fresh.sum() / max(len(text), 1):.1f} %"
        facts["repeated"] = f"{(end - start - fresh).sum():,} characters"
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in facts.items()) + "</dl>"


def _histogram(tokens: np.ndarray) -> str:
    """Bars of how many chunks have how many tokens."""
    least, most = int(tokens.min()), int(tokens.max())
    width = max(-(-(most - least + 1) // BARS), 1)
    counts = np.bincount((tokens - least) // width)
    bars = []
    for place, count in enumerate(counts.tolist()):
        low = least + place * width
        sizes = _count(low, "token") if width == 1 else f"{low} to {low + width - 1} tokens"
        height = 84 * count / counts.max()
        bars.append(
            f'<rect class="bar" x="{place + 0.05:.2f}" y="{90 - height:.2f}" width="0.9" height="{height:.2f}">'
            f"<title>{sizes}: {_count(count, 'chunk')}</title></rect>"
        )
    return _figure("Tokens in a chunk", "", len(counts), bars, (f"{least:,}", f"{most:,}"))


def _curve(similarity: np.ndarray, cuts: np.ndarray) -> str:
    """The similarity of neighbouring sentences, with the cuts."""
    if len(cuts) and not 0 <= cuts.min() <= cuts.max() < len(similarity):
        raise ValueError(f"cuts must be from 0 to {len(similarity) - 1}")
    low, high = float(similarity.min()), float(similarity.max())
    height = 86 - 82 * (similarity - low) / max(high - low, 1e-9)
    points = " ".join(f"{x + 0.5:g},{y:.1f}" for x, y in enumerate(height.tolist()))
    drawn = [
        f'<line class="cut" x1="{cut + 0.5:g}" x2="{cut + 0.5:g}" y1="0" y2="90">'
        f"<title>cut after sentence {cut + 1}, similarity {similarity[cut]:.3f}</title></line>"
        for cut in cuts.tolist()
    ]
    drawn.append(f'<polyline class="curve" points="{points}"/>')
    heading = f"Similarity of neighbouring sentences, {low:.2f} to {high:.2f}"
    return _figure(
        heading, _count(len(cuts), "cut"), len(similarity), drawn, ("1", f"sentence {len(similarity) + 1:,}")
    )


def _figure(heading: str, key: str, width: int, drawn: list[str], scale: tuple[str, str]) -> str:
    # Long curves keep their points far enough apart to tell them, and scroll.
    long = STEP * width > 900
    outer, inner, size = (
        ('class="scroll" tabindex="0"', "long", f'width="{STEP * width}" ') if long else ("", "full", "")
    )
    return (
        f'<figure{" class=wide" if key else ""}><h2>{heading} <span class="key">{key}</span></h2>'
        f'<div {outer}><div class="{inner}"><svg {size}viewBox="0 0 {width} 90" preserveAspectRatio="none" role="img" '
        f'aria-label="{heading}">{"".join(drawn)}</svg>'
        f'<div class="scale"><span>{scale[0]}</span><span>{scale[1]}</span></div></div></div></figure>'
    )


def _escape(text: str) -> str:
    """Text for an element or a quoted attribute, so that the parser gives it back: it would make line feeds of carriage
    returns. What HTML or UTF-8 cannot hold (NUL, lone surrogates) becomes U+FFFD."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", html.escape(text)).replace("\r", "&#13;")


def _digest(inline: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
