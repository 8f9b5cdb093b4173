import type { BodyForm } from '../language/fixture-types.ts'
import { cutLetterForms, bodyForms as sameJson } from '../signer/body-forms.ts'

type Member = [name: string, value: unknown]

const compact = (members: Member[]): string => JSON.stringify(Object.fromEntries(members))

/** The ways to write the JSON of a call without changing its meaning; each of them is "the body exactly as sent". */
const forms: { readonly [form: string]: (members: Member[]) => string } = {
  compact,
  spaced: (members) => compact(members).replaceAll('":', '" : ').replaceAll(',"', ' , "'),
  indented: (members) => JSON.stringify(Object.fromEntries(members), null, 2),
  crlf: (members) => JSON.stringify(Object.fromEntries(members), null, 2).replaceAll('\n', '\r\n'),
  'trailing-newline': (members) => `${compact(members)}\n`,
  'members-reordered': (members) => compact([...members].reverse()),
  'leading-space': (members) => `  ${compact(members)}`,
}

export const bodyForms: readonly string[] = Object.keys(forms)

/** Forms that `explore` uses: some of them say more or other than the call. */
export const otherBodyForms: readonly string[] = [...Object.keys(sameJson), ...Object.keys(cutLetterForms)].filter(
  (form) => !bodyForms.includes(form),
)

/** Writes a call in a body form; `{ size }` pads with spaces inside the object to that many bytes. */
export function writeBody(members: Member[], form: BodyForm = 'compact'): string {
  if (typeof form === 'string') {
    const written = compact(members)
    return forms[form]?.(members) ?? (sameJson[form] ?? cutLetterForms[form])?.(written) ?? written
  }
  const text = compact(members)
  const missing = form.size - new TextEncoder().encode(text).length
  return missing > 0 ? `${text.slice(0, -1)}${' '.repeat(missing)}}` : text
}
