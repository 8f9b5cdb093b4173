/** Bodies signed in one form and sent in another. */
import { keptOut } from './ask-only.ts'
import { richForms } from './body-forms.ts'
import { basic, changed, create, ecc, hmac, list } from './calls.ts'
import type { Asker } from './table.ts'

/** Bodies that can be written in many ways, each signed in one and sent in another. */
export async function writtenAgain(asker: Asker): Promise<void> {
  const { x, people } = asker
  x.script = 'bodies'
  const { fields, changesOf } = x.options.operations
  const changes = fields
    .filter(({ field }) => ['signed-body', 'sent-body', 'mistake'].includes(field))
    .flatMap((field) => changesOf(field))
    .filter(
      ({ field, operation = '' }) =>
        field !== 'mistake' || operation.startsWith('data/with-body') || operation.startsWith('data/without-body'),
    )
  const auths = [...people.secret.slice(0, 1).map(hmac), ...people.ecc.slice(0, 1).map(ecc)]
  for (const form of richForms)
    for (const auth of auths) {
      const right = list(auth, { form })
      const who = people.secret[0]
      // Basic credentials show whether such a body is taken at all.
      if (who !== undefined && (await x.call(list(basic(who), { form })))?.answer.kind !== 'accepted') continue
      if ((await x.call(right))?.answer.kind !== 'accepted') continue
      for (const change of changes)
        if (change.field === 'signed-body' || (auth.kind === 'hmac' && change.field === 'mistake'))
          await keptOut(x, changed(right, change))
    }
  for (const auth of auths)
    for (const change of changes) {
      if (!people.keys || x.state().created > 9) return
      const right = create(auth, { name: 'deviation-$unique', scope: ['solution'] })
      await keptOut(x, changed(right, change))
    }
}
