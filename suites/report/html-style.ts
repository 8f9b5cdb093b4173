/** The look of the HTML report: light and dark, wide and narrow, and on paper. */
export const htmlStyle = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --soft: #57606a; --line: #d5dae0; --raised: #f5f7f9; --focus: #0b63ce;
  --passed: #146c39; --failed: #b71c1c; --blocked: #6f35a8; --known: #8f5000; --warned: #6f5800; --not-testable: #56606a; --not-run: #3d5a80; --not-applicable: #56606a;
  --passed-bg: #d9f2e2; --failed-bg: #fde3e1; --blocked-bg: #efe3fa; --known-bg: #fdebd3; --warned-bg: #fbf2c4; --not-testable-bg: #e8ebee; --not-run-bg: #dce7f3; --not-applicable-bg: #f0f2f4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e4e8ec; --soft: #a0a9b2; --line: #343b42; --raised: #1d2226; --focus: #7ab8ff;
    --passed: #6bd391; --failed: #ff8a80; --blocked: #c9a0f0; --known: #f5b567; --warned: #e6cf5c; --not-testable: #a3adb6; --not-run: #9dc1ea; --not-applicable: #a3adb6;
    --passed-bg: #17382a; --failed-bg: #4a1f1d; --blocked-bg: #36244a; --known-bg: #46310f; --warned-bg: #3d370f; --not-testable-bg: #2a3036; --not-run-bg: #1f3346; --not-applicable-bg: #22272c;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main, header { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; }
header p { margin: .35rem 0; }
.product { color: var(--soft); font-size: .9rem; }
.exit { font-weight: 400; opacity: .85; margin-left: .4rem; }
.problems { list-style: none; margin: .6rem 0; padding: .5rem .9rem; background: var(--raised); border-radius: 6px; }
.problems li { margin: .15rem 0; }
.legend { list-style: none; margin: .8rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .85rem; color: var(--soft); }
.legend b { color: var(--ink); font-weight: 600; }
.sign { display: inline-block; width: 1.25rem; height: 1.25rem; border-radius: 4px; text-align: center; line-height: 1.25rem; vertical-align: middle; }
.sign.implied { border: 1px dashed var(--ink); }
h2 { font-size: 1.15rem; margin: 1.5rem 0 .4rem; }
h2 + p { margin: .2rem 0 .6rem; }
code, pre { font: .85rem/1.45 ui-monospace, Menlo, Consolas, monospace; }
a { color: var(--focus); }
.soft { color: var(--soft); }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .25rem .5rem; z-index: 3; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.verdict { display: inline-block; padding: .3rem .8rem; border-radius: 6px; font-weight: 600; margin: .5rem 0; }
.conclusion { margin: .25rem 0 0; padding-left: 1.2rem; }
.conclusion .deep { list-style: none; color: var(--soft); }
.passed { color: var(--passed); } .failed { color: var(--failed); } .blocked { color: var(--blocked); }
.known { color: var(--known); } .warned { color: var(--warned); } .not-testable { color: var(--not-testable); }
.not-run { color: var(--not-run); } .not-applicable { color: var(--not-applicable); }
.fill.passed { background: var(--passed-bg); } .fill.failed { background: var(--failed-bg); } .fill.blocked { background: var(--blocked-bg); }
.fill.known { background: var(--known-bg); } .fill.warned { background: var(--warned-bg); } .fill.not-testable { background: var(--not-testable-bg); }
.fill.not-run { background: var(--not-run-bg); } .fill.not-applicable { background: var(--not-applicable-bg); }
.areas { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .5rem 1.25rem; margin: 0; padding: 0; list-style: none; }
.areas h3 { font-size: .9rem; font-weight: 600; margin: 0; display: flex; justify-content: space-between; }
.areas h3 span { font-weight: 400; color: var(--soft); }
.bar { display: block; width: 100%; height: 5px; border-radius: 3px; margin: .15rem 0 .3rem; background: var(--line); }
.bar .passed { fill: var(--passed); } .bar .failed { fill: var(--failed); } .bar .blocked { fill: var(--blocked); }
.bar .known { fill: var(--known); } .bar .warned { fill: var(--warned); } .bar .not-testable { fill: var(--not-testable-bg); }
.bar .not-run { fill: var(--not-run); } .bar .not-applicable { fill: var(--not-applicable-bg); }
.cells { display: flex; flex-wrap: wrap; gap: 3px; }
.cell { width: 1.5rem; height: 1.5rem; padding: 0; border: 1px solid transparent; border-radius: 4px; font: .8rem/1 system-ui, sans-serif; cursor: pointer; }
.cell.implied { border-style: dashed; border-color: currentColor; }
.cell:hover, .cell[aria-pressed=true] { border: 2px solid currentColor; }
.filters { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--line); padding: .6rem 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.filters input { flex: 1 1 14rem; min-width: 0; font: inherit; padding: .3rem .6rem; border: 1px solid var(--soft); border-radius: 6px; background: var(--paper); color: var(--ink); }
.chip { font: inherit; font-size: .9rem; border: 1px solid currentColor; border-radius: 999px; padding: .15rem .7rem; background: transparent; cursor: pointer; }
.chip[aria-pressed=true].passed { background: var(--passed-bg); } .chip[aria-pressed=true].failed { background: var(--failed-bg); }
.chip[aria-pressed=true].blocked { background: var(--blocked-bg); } .chip[aria-pressed=true].known { background: var(--known-bg); }
.chip[aria-pressed=true].warned { background: var(--warned-bg); } .chip[aria-pressed=true].not-testable { background: var(--not-testable-bg); }
.chip[aria-pressed=true].not-run { background: var(--not-run-bg); } .chip[aria-pressed=true].not-applicable { background: var(--not-applicable-bg); }
.chip[aria-pressed=true] { box-shadow: inset 0 0 0 1px currentColor; font-weight: 600; }
.chip.plain { color: var(--ink); }
.case { border: 1px solid var(--line); border-left: 4px solid currentColor; border-radius: 6px; margin: .4rem 0; }
.case.passed { margin: .15rem 0; }
.case > summary { cursor: pointer; padding: .25rem .7rem; color: var(--ink); }
.case > summary .mark { display: inline-block; min-width: 1.2rem; font-weight: 700; }
.group { margin: .4rem 0; padding-left: .6rem; border-left: 4px solid var(--blocked); }
.group > summary { cursor: pointer; padding: .25rem 0; color: var(--blocked); font-weight: 600; }
.case .body { padding: 0 .9rem .8rem; color: var(--ink); }
.case summary code { font-weight: 600; }
dl { margin: .5rem 0; display: grid; grid-template-columns: max-content 1fr; gap: .2rem .9rem; }
dt { color: var(--soft); } dd { margin: 0; }
.sentence { background: var(--raised); border-radius: 6px; padding: .5rem .8rem; margin: .4rem 0; }
.sentence b { font-size: .75rem; letter-spacing: .05em; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: .5rem 0; white-space: pre-wrap; }
pre .out { color: var(--ink); } pre .in { color: var(--soft); }
pre span { unicode-bidi: isolate; }
.lf, .cr { font-size: 0; }
.lf::after, .cr::after { font: 600 .6rem/1 system-ui, sans-serif; color: var(--soft); border: 1px solid var(--line); border-radius: 3px; padding: 0 .2rem; margin-left: .15rem; vertical-align: .1em; }
.lf::after { content: 'LF'; } .cr::after { content: 'CR'; }
.source { margin: .2rem 0; } .source > summary { cursor: pointer; }
.source pre span:target { background: var(--known-bg); }
:target:not(span) { outline: 2px solid var(--focus); outline-offset: 2px; }
h2:target { outline: none; }
tr:target { outline-offset: -2px; }
q { quotes: none; }
figure { margin: .6rem 0; overflow-x: auto; }
.history { width: 100%; min-width: 26rem; max-width: 44rem; font: 12px system-ui, sans-serif; fill: var(--ink); }
.history rect { fill: var(--known-bg); stroke: var(--known); }
.history .number { text-anchor: middle; fill: var(--known); font-weight: 600; }
figcaption ol { margin: .3rem 0; }
.again { display: flex; gap: .5rem; align-items: flex-start; } .again pre { flex: 1; margin: 0; }
.copy { font: inherit; font-size: .85rem; padding: .35rem .6rem; border-radius: 6px; border: 1px solid var(--soft); background: transparent; color: var(--ink); cursor: pointer; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td.nowrap { white-space: nowrap; }
.stack td code { overflow-wrap: normal; }
[hidden] { display: none !important; }
footer { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 64rem) { html { scroll-padding-top: 7.5rem; } }
@media (max-width: 40rem) {
  html { scroll-padding-top: .5rem; }
  main, header { padding: 0 .75rem; }
  header { padding-top: 1rem; }
  dl { grid-template-columns: 1fr; gap: 0 0; } dt { margin-top: .4rem; }
  .filters { position: static; }
  .areas { grid-template-columns: 1fr 1fr; gap: .6rem .8rem; }
  .cell { width: 1.75rem; height: 1.75rem; }
  table.stack thead { display: none; }
  table.stack tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  table.stack td { display: block; border: 0; padding: .05rem 0; }
}
@media (max-width: 24rem) { .areas { grid-template-columns: 1fr; } }
@media print { .filters, .copy, .skip { display: none; } .case { break-inside: avoid; } }
`
