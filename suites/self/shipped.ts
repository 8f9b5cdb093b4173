import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { resultSchemas } from '../engine/language/corpus.ts'
import { type LintContext, lintContext } from '../engine/language/lint.ts'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseQuestions, parseRequirements, parseTestKeys } from '../engine/language/parse.ts'

/** A file of the package as text. */
export function shipped(file: string): string {
  return readFileSync(join(packageRoot, file), 'utf8')
}

/** The corpus without its scenarios: everything that scenarios may refer to. */
export function shippedContext(): LintContext {
  return lintContext({
    requirements: parseRequirements(shipped('spec/requirements.yaml'), 'spec/requirements.yaml'),
    questions: parseQuestions(shipped('spec/open-questions.yaml'), 'spec/open-questions.yaml'),
    testKeys: parseTestKeys(shipped('fixtures/test-keys.yaml'), 'fixtures/test-keys.yaml'),
    schemas: resultSchemas(packageRoot),
  })
}
