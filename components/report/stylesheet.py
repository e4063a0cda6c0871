"""The page's look: readable on a phone, in the dark and on paper."""

CSS = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #20242c; --muted: #5f6773;
  --line: #e3e6ea; --soft: #f5f6f8; --accent: #0b5c8e; --warn-ink: #7a4a00;
  --warn-paper: #fff6e3; --warn-line: #e9b44c; --plot: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181d; --ink: #e4e7eb;
  --muted: #9aa3af; --line: #2b3038; --soft: #1d2127; --accent: #7cc0ee;
  --warn-ink: #f3d08b; --warn-paper: #2a2213; --warn-line: #8a6a24; --plot: #f6f6f3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.2rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.3rem; margin: 3rem 0 .6rem; letter-spacing: -.005em; }
h2 .source { font-size: .8rem; font-weight: 500; color: var(--muted);
  border: 1px solid var(--line); border-radius: 1rem; padding: .1rem .55rem;
  margin-left: .5rem; vertical-align: 2px; white-space: nowrap; }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .4rem; }
.lead { color: var(--muted); margin: 0 0 1.6rem; }
.summary p { margin: .5rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr));
  gap: .75rem; margin: 1.4rem 0; }
.tile { background: var(--soft); border-radius: .6rem; padding: .8rem 1rem; }
.tile b { display: block; font-size: 1.7rem; line-height: 1.25;
  font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tile span { display: block; font-size: .86rem; }
.tile small { color: var(--muted); font-size: .8rem; }
.warnings { background: var(--warn-paper); color: var(--warn-ink);
  border-left: 4px solid var(--warn-line); border-radius: .3rem; padding: .7rem 1.1rem;
  margin: 1.4rem 0; font-size: .93rem; }
.warnings ul { margin: .3rem 0; padding-left: 1.1rem; } .warnings li { margin: .3rem 0;
  overflow-wrap: anywhere; }
.name { white-space: nowrap; }
.fine { color: var(--muted); font-size: .93rem; }
nav { font-size: .9rem; margin: 1.2rem 0 0; line-height: 1.9; }
nav a { white-space: nowrap; margin-right: .9rem; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 2px; }
figure { margin: .8rem 0 0; }
.plot { background: var(--plot); border: 1px solid var(--line); border-radius: .6rem;
  padding: .5rem; overflow-x: auto; }
.plot svg { display: block; height: auto; max-width: 100%; margin: 0 auto; }
figcaption { font-size: .92rem; color: var(--muted); margin: .6rem 0 0;
  max-width: 54rem; }
.absent { background: var(--soft); border-radius: .6rem; padding: .9rem 1.1rem;
  color: var(--muted); }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .87rem; min-width: 50%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .32rem .8rem .32rem 0; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--muted); } .n { text-align: right; }
.bar { display: inline-block; height: .7rem; background: var(--accent);
  border-radius: .2rem; min-width: 2px; }
td:has(.bar) { width: 60%; text-align: left; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--accent);
  font-size: .93rem; }
code { font: .88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line);
  color: var(--muted); font-size: .85rem; }
@media (max-width: 40rem) { body { font-size: 15px; } main {
  padding: 1.4rem .9rem 3rem; } h1 { font-size: 1.6rem; }
  .plot.wide svg { min-width: 42rem; }
  h2 .source { display: inline-block; margin-left: 0; } .tile b { font-size: 1.4rem; }
  .tiles { grid-template-columns: 1fr 1fr; } }
@media print { :root { --paper: #fff; --ink: #000; --muted: #444; --line: #ccc;
  --soft: #f3f3f3; --plot: #fff; --accent: #000; --warn-ink: #000;
  --warn-paper: #fff; } body { font-size: 10.5pt; } nav { display: none; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; } figure, .tile, tr { break-inside: avoid; }
  .plot, .scroll { overflow: visible; } .plot { border: 0; padding: 0; } }
"""
