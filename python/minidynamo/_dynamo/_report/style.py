"""The style of the page. Every rule is scoped to .md-page, so that a surrounding notebook keeps its own style."""

# Hue, and the lightness at which all eight look equally strong.
_HUES = ((214, 52), (150, 36), (28, 50), (275, 58), (340, 54), (190, 38), (52, 40), (0, 54))

_RULES = """
.md-page { --paper: #fff; --panel: #f6f7f9; --ink: #1c2128; --soft: #5d6673; --line: #dfe3e8; --red: #c2321f;
  --red-paper: #fdf0ed; --good: #1a7f4b; --tint: 93%; --tint-text: 28%; --capture: #4477aa; --lower: #cc8844;
  color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif;
  padding: 2em; max-width: 76em; margin: 0 auto; box-sizing: border-box }
@media (prefers-color-scheme: dark) { .md-page { --paper: #15181d; --panel: #1d2127; --ink: #e4e7eb; --soft: #9aa4b1;
  --line: #333a43; --red: #ff8a75; --red-paper: #33201d; --good: #5fd39a; --tint: 19%; --tint-text: 82%;
  --capture: #6fa0d0; --lower: #dba06a } }
.md-page * { box-sizing: border-box }
.md-page code, .md-page pre, .md-page .md-code { font-family: ui-monospace, "SF Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; font-size: 13px; background: none; padding: 0 }
.md-page h1 { font-size: 1.65em; font-weight: 650; margin: 0 }
.md-page h1 code { font-size: .92em }
.md-page h2 { font-size: 1.2em; font-weight: 650; margin: 2.2em 0 .7em }
.md-page h3 { font-size: .8em; font-weight: 650; letter-spacing: .05em; text-transform: uppercase; color: var(--soft);
  margin: 1.6em 0 .5em }
.md-page .md-soft { color: var(--soft) }
.md-page .md-small { font-size: 12.5px }
.md-page p { margin: .4em 0 }
.md-page .md-tiles { display: flex; flex-wrap: wrap; gap: .8em; margin: 1.3em 0 0 }
.md-page .md-tile { flex: 1 1 8em; background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .7em 1em }
.md-page .md-tile b { display: block; font-size: 1.6em; font-weight: 600; line-height: 1.2 }
.md-page .md-tile.md-bad b { color: var(--red) }
.md-page .md-tile.md-well b { color: var(--good) }
.md-page .md-chip { display: inline-block; border-radius: 9px; padding: 0 .65em; font-size: 12px; line-height: 18px;
  font-family: system-ui, sans-serif; white-space: nowrap; color: #fff; background: var(--strong) }
.md-page .md-panel { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin: 0 0 1.2em }
.md-page .md-panel > header { display: flex; align-items: baseline; gap: .8em; flex-wrap: wrap; padding: .55em 1em;
  background: var(--panel); border-bottom: 1px solid var(--line) }
.md-page .md-panel > .md-inside { padding: .2em 1em 1em }
.md-page table { border-collapse: collapse; border: 0; margin: 0; width: 100%; font-size: inherit }
.md-page td, .md-page th { border: 0; padding: .25em .6em; text-align: left; vertical-align: top; background: none }
.md-page th { font-size: 12px; font-weight: 600; color: var(--soft) }
.md-page table.md-source td { padding: 0 .7em; line-height: 21px; white-space: pre }
.md-page table.md-source td.md-number { width: 1%; color: var(--soft); text-align: right; user-select: none;
  border-right: 4px solid transparent }
.md-page table.md-source td.md-text { white-space: pre-wrap; overflow-wrap: anywhere }
.md-page table.md-source td.md-chips { width: 1%; text-align: right; font-size: 12px }
.md-page tr.md-in > td { background: var(--weak) }
.md-page tr.md-in > td.md-number { border-right-color: var(--strong) }
.md-page tr.md-break > td { background: var(--red-paper); border-top: 1px solid var(--line);
  border-bottom: 1px solid var(--line); white-space: normal !important; padding: .5em .9em !important;
  line-height: 1.45 !important }
.md-page tr.md-break b { color: var(--red) }
.md-page .md-hint::before { content: "→ "; color: var(--good); font-weight: 700 }
.md-page .md-kw { color: #8250df } .md-page .md-str { color: #0a7040 } .md-page .md-num { color: #0550ae }
.md-page .md-rem { color: var(--soft); font-style: italic }
@media (prefers-color-scheme: dark) { .md-page .md-kw { color: #c4a0ff } .md-page .md-str { color: #7fd6a4 }
  .md-page .md-num { color: #8cc2ff } }
.md-page .md-bar { display: block; height: 12px; border-radius: 3px; background: var(--strong); min-width: 2px }
.md-page .md-track { display: flex; background: var(--panel); border-radius: 3px; min-width: 8em; margin: .35em 0 }
.md-page .md-capture { background: var(--capture); border-radius: 3px 0 0 3px }
.md-page .md-lower { background: var(--lower); border-radius: 0 3px 3px 0 }
.md-page .md-key { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin: 0 .4em 0 0;
  background: var(--strong) }
.md-page table.md-steps td { border-top: 1px solid var(--line) }
.md-page td.md-figure, .md-page th.md-figure { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums }
.md-page ul { margin: 0; padding: 0; list-style: none }
.md-page ul.md-list li { border-top: 1px solid var(--line); padding: .18em 0; overflow-wrap: anywhere; margin: 0 }
.md-page ul.md-list li:first-child { border-top: 0 }
.md-page ul.md-guards { max-height: 40em; overflow-y: auto }
.md-page .md-kind { color: var(--soft); font-size: 11px }
.md-page .md-beside { display: flex; flex-wrap: wrap; gap: 0 2em }
.md-page .md-beside > div { flex: 1 1 24em; min-width: 0 }
.md-page .md-drawing { overflow-x: auto; background: var(--panel); border-radius: 6px; padding: 1em }
.md-page svg { display: block; margin: 0 auto }
.md-page svg text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink) }
.md-page svg text.md-type { font-size: 10px; fill: var(--soft) }
.md-page svg path { fill: none; stroke: var(--soft); stroke-width: 1.1; opacity: .55 }
.md-page svg rect { fill: var(--paper); stroke: var(--soft); stroke-width: 1 }
.md-page svg g.md-step rect { fill: var(--weak); stroke: var(--strong); stroke-width: 1.6 }
.md-page svg g.md-view rect { stroke-dasharray: 4 3 }
.md-page svg g.md-end rect { fill: var(--ink); stroke: var(--ink) }
.md-page svg g.md-end text { fill: var(--paper) }
@media print { .md-page { padding: 0 } .md-page .md-panel { break-inside: avoid } }
"""


def style() -> str:
    colours = "\n".join(
        f".md-page .md-c{number} {{ --strong: hsl({hue} 62% {light}%); --weak: hsl({hue} 62% var(--tint)) }}"
        for number, (hue, light) in enumerate(_HUES)
    )
    return f"{_RULES}{colours}\n"
