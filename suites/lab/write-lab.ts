/** A step of `npm run build`: leaves the lab page beside its compiled modules. */
import { writeFileSync } from 'node:fs'
import { buildLab } from './build-lab.ts'

writeFileSync(new URL('lab-page.html', import.meta.url), await buildLab())
