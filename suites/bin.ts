#!/usr/bin/env node
// No import statement and no syntax of recent years: an old Node must get as far as this sentence.
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Use Node 20.19 or later to run svc-conformance, this is Node ${process.versions.node}`)
  process.exitCode = 2
} else {
  const argv = process.argv.slice(2)
  const start = async (): Promise<void> => {
    // Scripts use it, and it needs no option parser.
    if (argv[0] === '--version') return console.log((await import('./commands/console.ts')).packageVersion())
    // Most commands end before optimizing pays off: this saves up to a fifth of their processor time. A server runs for long.
    if (argv[0] !== 'serve') (await import('node:v8')).setFlagsFromString('--interrupt-budget=500000')
    // Loading the rest takes some tenths of a second; Ctrl-C must already work then.
    if (argv[0] === 'run') (await import('./run/ending.ts')).leaveOnSignal()
    const [cli, output] = await Promise.all([import('./cli.ts'), import('./commands/console.ts')])
    const exitCodeOfOutput = output.listenForOutputErrors(argv[0] === 'serve')
    await cli.main(argv)
    const exitCode = exitCodeOfOutput()
    if (exitCode !== undefined) process.exitCode = exitCode
  }
  start()
}
