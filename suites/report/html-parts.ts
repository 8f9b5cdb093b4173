/** Parts of the HTML report that are about requirements. */
import { areaOf, type Counts, countAreas } from './explain.ts'
import { escapeBytes, escapeHtml, linkTo } from './html-text.ts'
import type { PrintedReport } from './printed.ts'
import type { RequirementReport } from './report.ts'
import { documentSentence, filesOfCases, placeOfCase, type Sources } from './sources.ts'
import { casesOf, glyphs, meanings, verdictOrder, words } from './verdict-words.ts'

/** The coverage picture: a bar per area, and a cell per requirement that filters by it. */
export function coverage(report: PrintedReport): string {
  const areas = countAreas(report.requirements).map(({ area, total, counts }) => {
    const mine = report.requirements.filter(({ id }) => areaOf(id) === area)
    return `<li><h3>${escapeHtml(area)} <span>${counts.passed} of ${total}</span></h3>${bar(counts, total)}
<div class="cells" role="group" aria-label="Requirements of ${escapeHtml(area)}">${mine.map(cell).join('')}</div></li>`
  })
  return `<ul class="areas">${areas.join('\n')}</ul>`
}

function bar(counts: Counts, total: number): string {
  let x = 0
  const parts = [...verdictOrder].reverse().map((verdict) => {
    const width = (counts[verdict] / total) * 100
    const part =
      width === 0 ? '' : `<rect class="${verdict}" x="${x.toFixed(2)}" y="0" width="${width.toFixed(2)}" height="5"/>`
    x += width
    return part
  })
  const counted = verdictOrder
    .filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${words(verdict)}`)
  return `<svg class="bar" viewBox="0 0 100 5" preserveAspectRatio="none" role="img" aria-label="${counted.join(', ')}">${parts.join('')}</svg>`
}

function cell({ id, level, verdict, text }: RequirementReport): string {
  const label = escapeHtml(`${id}, ${words(verdict)}: ${text}`)
  return `<button type="button" class="cell fill ${verdict} ${level}" data-requirement="${escapeHtml(id)}" aria-pressed="false" title="${label}" aria-label="${label}">${glyphs[verdict]}</button>`
}

/** The legend of the verdicts that occur. */
export function legend({ requirements, cases }: Pick<PrintedReport, 'requirements' | 'cases'>): string {
  const used = new Set([...requirements, ...cases].map(({ verdict }) => verdict))
  const items = verdictOrder
    .filter((verdict) => used.has(verdict))
    .map(
      (verdict) =>
        `<li><span class="sign fill ${verdict}" aria-hidden="true">${glyphs[verdict]}</span> <b>${words(verdict)}</b> ${meanings[verdict]}</li>`,
    )
  return `<ul class="legend" aria-label="Legend">${items.join('')}<li><span class="sign implied" aria-hidden="true"></span> <b>dashed</b> the document implies it; all others are musts</li></ul>`
}

/** One line of the table of requirements: our sentence, and what the document says. */
export function requirementLine(
  { id, level, verdict, text, anchor, reason, cases }: RequirementReport,
  sources: Sources,
): string {
  const quoted = documentSentence(sources, id)
  const search = escapeHtml([id, text, reason ?? ''].join(' ').toLowerCase())
  const more = [
    quoted === null ? null : `<q>${escapeHtml(quoted)}</q> <span class="soft">${escapeHtml(anchor)}</span>`,
    reason === null ? null : `<span class="soft">${escapeHtml(reason)}</span>`,
  ].flatMap((part) => (part === null ? [] : [`<br>${part}`]))
  return `<tr id="requirement/${escapeHtml(id)}" data-id="${escapeHtml(id)}" data-verdict="${verdict}" data-proves="${escapeHtml(id)}" data-search="${search}"><td class="nowrap ${verdict}">${glyphs[verdict]} ${words(verdict)}</td><td>${linkTo(id, `<code>${escapeHtml(id)}</code>`)}</td><td>${level}</td><td>${escapeHtml(text)}${more.join('')}</td><td class="nowrap">${casesOf(cases.length)}</td></tr>`
}

/** The texts of the fixtures, folded, with an anchor for each line that a case names. */
export function fixtureTexts(cases: PrintedReport['cases'], sources: Sources): string {
  const named = new Set(cases.map(placeOfCase).map(({ file, line }) => `file/${file}/${line}`))
  const texts = filesOfCases(cases).flatMap((file) => {
    const text = sources.get(file)
    if (text === undefined) return []
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line, index) => {
        const id = `file/${file}/${index + 1}`
        return named.has(id) ? `<span id="${id}">${escapeBytes(line)}</span>` : escapeBytes(line)
      })
    return [
      `<details class="source" id="file/${file}"><summary><code>${file}</code></summary><pre tabindex="0" role="region" aria-label="${file}">${lines.join('\n')}</pre></details>`,
    ]
  })
  return texts.length === 0 ? '' : `<h2>Fixtures</h2>\n${texts.join('\n')}`
}
