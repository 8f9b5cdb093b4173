/** What the published JUnit schema of build servers allows: junit-10.xsd of the Jenkins xUnit plugin, as a table. */
import { XMLParser, XMLValidator } from 'fast-xml-parser'

interface ElementRule {
  attributes: readonly string[]
  required: readonly string[]
  children: readonly string[]
}

const rule = (required: string, optional: string, children: string): ElementRule => ({
  attributes: words(`${required} ${optional}`),
  required: words(required),
  children: words(children),
})

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '')

const result = rule('', 'type message', '#text')
const text = rule('', '', '#text')
const rules: { readonly [element: string]: ElementRule } = {
  testsuites: rule('', 'name time tests failures errors', 'testsuite'),
  testsuite: rule(
    'name tests failures errors',
    'group time skipped timestamp hostname id package file log url',
    'testsuite properties testcase system-out system-err',
  ),
  testcase: rule('name', 'time classname group', 'skipped error failure system-out system-err'),
  failure: result,
  error: result,
  skipped: result,
  'system-out': text,
  'system-err': text,
}

const time = /^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$/

type Node = { ':@'?: { [attribute: string]: string } } & { [element: string]: Node[] }

/** What a document has that the schema does not allow; empty if it is valid. */
export function junitProblems(xml: string): string[] {
  const wellFormed = XMLValidator.validate(xml)
  if (wellFormed !== true) return [wellFormed.err.msg]
  const parser = new XMLParser({ preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '' })
  const nodes = (parser.parse(xml) as Node[]).filter((node) => elementOf(node) !== '?xml')
  const [root] = nodes
  if (root === undefined || nodes.length > 1 || elementOf(root) !== 'testsuites') return ['the root is no testsuites']
  return problemsOf(root)
}

const elementOf = (node: Node): string => Object.keys(node).find((name) => name !== ':@') ?? ''

function problemsOf(node: Node): string[] {
  const element = elementOf(node)
  const known = rules[element]
  if (known === undefined) return [`unknown element ${element}`]
  const attributes = node[':@'] ?? {}
  const children = node[element] ?? []
  return [
    ...Object.keys(attributes)
      .filter((name) => !known.attributes.includes(name))
      .map((name) => `${element} may not have ${name}`),
    ...known.required.filter((name) => attributes[name] === undefined).map((name) => `${element} needs ${name}`),
    ...(attributes.time === undefined || time.test(attributes.time) ? [] : [`${element} has time ${attributes.time}`]),
    ...children
      .map(elementOf)
      .filter((child) => !known.children.includes(child))
      .map((child) => `${element} may not hold ${child}`),
    ...children.filter((child) => elementOf(child) !== '#text').flatMap(problemsOf),
  ]
}
