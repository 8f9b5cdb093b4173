/** Writes the findings of an exploration as scenarios for `run --fixtures`. */
import { join } from 'node:path'
import { SuiteError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { languageVersion } from '../engine/language/schemas.ts'
import { line, type Printable } from '../engine/printable.ts'
import type { Exploration } from '../explore/explore.ts'
import type { Found } from '../explore/findings.ts'
import { shellWord } from '../report/lines.ts'
import { isBroken, tryScenario } from '../run/explore/try-scenario.ts'
import { replaceFile } from '../run/files.ts'
import type { RunFlags } from '../run/options.ts'

interface Explored {
  readonly exploration: Exploration
  readonly corpus: Corpus
}

type Flags = Pick<RunFlags, 'url' | 'target' | 'disposable'>

/**
 * Writes `scenarios/found/<slug>.yaml` for each finding that the fixture language has words for. The bundled server must pass it, or the
 * scenario would accuse every server.
 *
 * @returns what was written, how to run it, and why others were not written
 */
export async function saveScenarios(
  flags: Flags,
  folder: string,
  { exploration: { findings }, corpus }: Explored,
): Promise<Printable[]> {
  const written: Printable[] = []
  let isImplied = false
  const others: Printable[] = []
  for (const [index, finding] of findings.entries()) {
    const why = await whyNotWritten(finding, corpus)
    if (why !== undefined)
      others.push(line`No scenario for finding ${index + 1} (${finding.id}): ${why}; the seed repeats it`)
    else {
      if (written.length === 0)
        replaceFile(join(folder, 'language.yaml'), `language: ${languageVersion}\n`, 'the scenarios')
      const file = `${finding.id.replace(/^found\//, '').replaceAll('/', '-')}.yaml`
      replaceFile(join(folder, 'scenarios', 'found', file), finding.fixture ?? '', 'the scenario')
      written.push(line`  ${index + 1}. ${file}`)
      isImplied ||= finding.level === 'implied'
    }
  }
  if (written.length === 0) return others
  return [
    line`Wrote ${counted(written.length, 'scenario')} to "${join(folder, 'scenarios', 'found')}":`,
    ...written,
    ...howToRun(flags, folder, isImplied),
    ...others,
  ]
}

async function whyNotWritten(
  { fixture, requirement, whyNoFixture }: Found,
  corpus: Corpus,
): Promise<string | undefined> {
  if (fixture === null) return whyNoFixture ?? 'the fixture language has no words for it'
  try {
    const verdict = await tryScenario(fixture, requirement, corpus)
    return isBroken(verdict)
      ? 'the bundled server does not pass it, so it rests on what this target did before'
      : undefined
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    return `it is not written rightly, which is a mistake of the suite (${error.message.split('\n')[0]})`
  }
}

/** @param isImplied one breaks a requirement that is only implied, which fails a run only with `--strict` */
function howToRun(flags: Flags, folder: string, isImplied: boolean): Printable[] {
  const target = [
    ...(flags.url === undefined ? [] : ['--url', flags.url]),
    ...(flags.target === undefined ? [] : ['--target', flags.target]),
    ...(flags.disposable === true ? ['--disposable'] : []),
    ...(isImplied ? ['--strict'] : []),
  ]
  const command = ['npx', 'svc-conformance', 'run', ...target, '--fixtures', folder, '--only', 'found']
  const place =
    flags.disposable === true ? ' on a new instance, because the places for keys of this one may be taken' : ''
  return [
    line`Run them${place}: ${command.map(shellWord).join(' ')}`,
    ...(isImplied ? [line`With --strict a scenario fails also where the document only implies the rule`] : []),
    line`They fail there until the server is mended; one that passes rests on what happened before it, and the seed repeats that`,
  ]
}
