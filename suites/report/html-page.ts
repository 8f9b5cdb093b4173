import { type Printable, vouchedFor } from '../engine/printable.ts'
import { pagePolicy } from '../page/build-page.ts'
import { htmlStyle } from './html-style.ts'
import { escapeHtml } from './html-text.ts'

/**
 * A self-contained page whose own policy forbids the network.
 *
 * @param body made of printable parts only
 * @param script the only script of the page; null: it has no script
 */
export function htmlPage(title: string, body: string, script: string | null): Printable {
  return vouchedFor(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(htmlStyle, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${htmlStyle}</style>
</head>
<body>
${body}${script === null ? '' : `\n<script>${script}</script>`}
</body>
</html>
`)
}
