/** Reasons that differ in the probe they ask for are one reason. */

const probeReason =
  /^(it calls )a method( that the document does not show; )(probes\.[\w-]+)( in the target file names )one$/

/**
 * Each reason once, and those that ask for one probe each as one that asks for all of them.
 *
 * @returns each reason with the reasons that it stands for
 */
export function joinReasons(reasons: readonly string[]): { reason: string; of: string[] }[] {
  const distinct = [...new Set(reasons)]
  const probing = distinct.filter((reason) => probeReason.test(reason))
  const [, before, between, , after] = probeReason.exec(probing[0] ?? '') ?? []
  if (probing.length < 2) return distinct.map((reason) => ({ reason, of: [reason] }))
  const probes = probing.map((reason) => probeReason.exec(reason)?.[3] ?? '').sort()
  const joined = `${before}methods${between}${probes.join(', ')}${after?.replace('names', 'name')}them`
  const others = distinct.filter((reason) => !probing.includes(reason))
  return [...others.map((reason) => ({ reason, of: [reason] })), { reason: joined, of: probing }]
}
