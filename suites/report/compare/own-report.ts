/// <reference lib="dom" />
/** Reports that the reader adds by hand: they stay in the browser. */
import type { ComparedReport } from './comparison.ts'

/** Calls `add` with each JSON report that is chosen or dropped, and `refuse` with the reason if a file is not a report. */
export function listenForReports(
  input: HTMLInputElement,
  add: (report: ComparedReport) => void,
  refuse: (sentence: string) => void,
): void {
  const readAll = async (files: Iterable<File>): Promise<void> => {
    for (const file of files) {
      const report = readReport(await file.text())
      if (report === null) refuse(`${file.name} is not a JSON report of svc-conformance (run --report json=FILE)`)
      else add(report)
    }
  }
  input.addEventListener('change', () => {
    void readAll([...(input.files ?? [])])
    input.value = ''
  })
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    document.body.classList.add('dropping')
  })
  for (const end of ['dragleave', 'drop'] as const)
    document.addEventListener(end, () => document.body.classList.remove('dropping'))
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    void readAll([...(event.dataTransfer?.files ?? [])])
  })
}

/** Checks only the members that the page uses. */
function readReport(text: string): ComparedReport | null {
  try {
    const report = JSON.parse(text) as ComparedReport
    const hasParts =
      typeof report.meta.target === 'string' &&
      typeof report.meta.started === 'string' &&
      report.requirements.every(({ id, text: sentence }) => typeof id === 'string' && typeof sentence === 'string') &&
      report.cases.every(
        ({ key, title, proves }) => [key, title].every((one) => typeof one === 'string') && Array.isArray(proves),
      ) &&
      Array.isArray(report.findings)
    return hasParts ? report : null
  } catch {
    return null
  }
}
