"""Markdown in pieces, for generated documents."""

# Pieces that meet in every way: short documents made of them reach most states of the scanner.
PIECES = [
    "# a", "##\tb ##", "#x", "####### y", "a", "b c", " ", "  ", "   ", "    ", "\t", "> ", ">", "- ", "* ", "+ ",
    "1. ", "2) ", "10. ", "```", "````", "~~~", "``` py", "===", "---", "- - -", "***", "--", "=", "<div>", "</div>",
    "<a>", "<b x='y'>", "<!-- c", "-->", "<?x", "?>", "<!A", "<script>", "</pre>", "<![CDATA[", "]]>", "[a]: /u",
    "[a]:", "'t'", "(t)", "\\", "\\#", "é", "*a*", "/u", '"t', '[b]: <x> "y"',
]  # fmt: skip
EXTENSIONS = [
    "| a | b |", "|---|---|", "| a |", "|-|", "--|--", "a | b", ":-:|", "\\|", "$$", "$$ x", "x $$", "[^1]: ",
    "[^n]:",
]  # fmt: skip
BREAKS = ["\n"] * 12 + ["\n\n"] * 6 + ["\r\n", "\r"]
