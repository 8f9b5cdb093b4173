import { type Printable, vouchedFor } from '../engine/printable.ts'
import { asset, pagePolicy } from '../page/build-page.ts'
import { escapeHtml } from './html-text.ts'

/** The look of the reports. */
export const styleFile = 'suites/report/html.css'
/** The filters of a report about a server. */
export const scriptFile = 'suites/report/html-filters.js'

/**
 * A self-contained page whose own policy forbids the network.
 *
 * @param body made of printable parts only
 * @param script the only script of the page; null: it has no script
 */
export function htmlPage(title: string, body: string, script: string | null): Printable {
  const style = asset(styleFile)
  return vouchedFor(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}${script === null ? '' : `\n<script>${script}</script>`}
</body>
</html>
`)
}
