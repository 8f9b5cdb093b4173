/** A step of `npm run build`: leaves the page of many servers beside its compiled modules. */
import { writeFileSync } from 'node:fs'
import { buildComparison } from './build-comparison.ts'

writeFileSync(new URL('compare-page.html', import.meta.url), await buildComparison())
