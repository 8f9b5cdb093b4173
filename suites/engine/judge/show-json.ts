const longestShown = 120

/** A value as JSON for a report, cut to a readable length; "nothing" for undefined. */
export function showJson(value: unknown, longest = longestShown): string {
  const text = JSON.stringify(value)
  if (text === undefined) return 'nothing'
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
