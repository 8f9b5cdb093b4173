import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../engine/language/package-root.ts'
import { type Attack, type Attacks, endingWith, type Setup } from './attack.ts'

const secret = 'the-secret-that-stands-in-a-file'
const url = 'http://127.0.0.1:1'

/** Writes `files` and starts the command line with `args`. */
const withFiles =
  (files: { [name: string]: string }, args: string[], more: Partial<Setup> = {}) =>
  async (folder: string): Promise<Setup> => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return { args, ...more }
  }

/** Starts the command line beside a named pipe, which nobody writes into. */
const withPipe =
  (name: string, args: string[]) =>
  async (folder: string): Promise<Setup> => {
    execFileSync('mkfifo', [join(folder, name)])
    return { args }
  }

const keeps =
  (name: string, text: string) =>
  async (folder: string, args: string[]): Promise<Setup> => {
    writeFileSync(join(folder, name), text)
    return {
      args,
      check: () => (readFileSync(join(folder, name), 'utf8') === text ? undefined : `overwrote ${name}`),
    }
  }

const target = `url: ${url}\nroot: { id: some-id, secret: "${secret}" }\n`
const baseline = '- scenario: sessions/race\n  reason: known\n'
const usage = [2]
const runTarget = ['run', '--target', 'target.yaml']
const verifyKey = ['verify', '--header', 'svc-hmac-sha256 a;1;1;n;c2ln', '--body', '{}', '--public-key', 'key.pem']
const signing = ['sign', '--key-id', 'k', '--secret-env', 'SVC_KEY_SECRET']
const showsSecret = new RegExp(secret)

/** Folder names that have a meaning in shells, globs and URLs. */
const oddFolders: { [id: string]: string } = {
  space: 'with space',
  round: '(round)',
  square: '[square]',
  curly: '{curly}',
  star: 'a*b',
  question: 'a?b',
  hash: 'a#b',
  percent: '100%',
}

/** Attacks through files, the disk and the place of installation. */
export const attacksOfFiles: Attacks = endingWith(usage, {
  'report-is-target-file': {
    about: 'a report that would overwrite the target file',
    saysNot: showsSecret,
    setUp: (folder) => keeps('target.yaml', target)(folder, [...runTarget, '--report', 'json=target.yaml']),
  },
  'report-is-baseline': {
    about: 'a report that would overwrite the baseline',
    setUp: (folder) =>
      keeps('known.yaml', baseline)(folder, [
        'run',
        '--url',
        url,
        '--known',
        'known.yaml',
        '--report',
        'json=known.yaml',
      ]),
  },
  'report-is-link-to-target': {
    about: 'the same through a symbolic link',
    setUp: async (folder) => {
      const setup = await keeps('target.yaml', target)(folder, [...runTarget, '--report', 'html=report.html'])
      symlinkSync(join(folder, 'target.yaml'), join(folder, 'report.html'))
      return setup
    },
  },
  'two-reports-one-file': {
    about: 'two reports into one file',
    setUp: withFiles({}, ['run', '--report', 'json=a', '--report', 'html=a']),
  },
  'root-misspelt': {
    about: 'a misspelt root in a target file, which holds a secret',
    saysNot: showsSecret,
    says: /root/,
    setUp: withFiles({ 'target.yaml': `url: ${url}\nrot: { id: some-id, secret: "${secret}" }\n` }, runTarget),
  },
  'secret-behind-anchor': {
    about: 'a secret after an anchor',
    saysNot: showsSecret,
    setUp: withFiles(
      { 'target.yaml': `url: ${url}\nx: &s "${secret}"\nroot: { id: some-id, secret: *s }\n` },
      runTarget,
    ),
  },
  'secret-in-broken-yaml': {
    about: 'YAML that does not parse at the line of the secret',
    saysNot: showsSecret,
    setUp: withFiles({ 'target.yaml': `url: ${url}\nroot: { id: some-id, secret: "${secret}\n` }, runTarget),
  },
  'baseline-includes-itself': {
    about: 'a baseline whose anchor contains itself',
    setUp: withFiles({ 'known.yaml': '&a [*a]\n' }, ['run', '--known', 'known.yaml']),
  },
  'billion-laughs': {
    about: 'YAML that grows a billionfold',
    setUp: withFiles(
      {
        'known.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
          .split('')
          .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[index]}`).join(',')}]`)
          .join('\n')}\n`,
      },
      ['run', '--known', 'known.yaml'],
    ),
  },
  'target-is-folder': {
    about: 'a folder as target file',
    setUp: async (folder) => {
      mkdirSync(join(folder, 'target.yaml'))
      return { args: runTarget }
    },
  },
  'target-is-pipe': {
    about: 'a named pipe as target file',
    withinMs: 5000,
    setUp: withPipe('target.yaml', runTarget),
  },
  'target-of-100-megabytes': {
    about: 'a target file of 100 MB',
    setUp: async (folder) => {
      writeFileSync(join(folder, 'target.yaml'), 'url: x\n')
      truncateSync(join(folder, 'target.yaml'), 100 * 1024 * 1024)
      return { args: runTarget }
    },
  },
  'json-report-that-is-none': {
    about: '--failed with a file that is no report',
    setUp: withFiles({ 'report.json': '{"cases":7}' }, ['run', '--failed', 'report.json']),
  },
  'full-disk': {
    about: 'stdout on a full disk',
    setUp: async () => ({
      args: ['run', '--only', 'basic'],
      ...(existsSync('/dev/full') ? { stdoutFile: '/dev/full' } : {}),
    }),
  },
  'full-disk-of-serve': {
    about: 'the same for serve',
    withinMs: 5000,
    setUp: async () => ({ args: ['serve'], stdoutFile: '/dev/full' }),
  },
  'closed-pipe': {
    about: 'a reader that goes away, such as head',
    exits: [0, 2],
    setUp: async () => ({ args: ['list', '--json'], closesStdout: true }),
  },
  'private-key-is-pipe': {
    about: 'a named pipe as private key',
    withinMs: 5000,
    setUp: withPipe('key.pem', ['sign', '--body', '{}', '--key-id', 'k', '--private-key', 'key.pem']),
  },
  'body-without-end-to-sign': {
    about: 'a device that never ends as body',
    withinMs: 5000,
    setUp: withFiles({}, [...signing, '--body-file', '/dev/zero']),
  },
  'slow-standard-input': {
    about: 'a body that comes late on standard input',
    exits: [0],
    withinMs: 5000,
    setUp: withFiles({}, signing, { stdin: { text: '{}', afterMs: 700 } }),
  },
  'standard-input-of-100-megabytes': {
    about: '100 MB on standard input',
    withinMs: 10_000,
    setUp: withFiles({}, signing, { stdin: { text: ' '.repeat(100 * 1024 * 1024), afterMs: 0 } }),
  },
  'baseline-of-a-client-is-pipe': {
    about: 'a named pipe as baseline of a client',
    withinMs: 5000,
    setUp: withPipe('known.yaml', ['client', '--known', 'known.yaml', '--', 'true']),
  },
  ...Object.fromEntries(
    Object.entries(oddFolders).map(([id, name]): [string, Attack] => [
      `installed-in-${id}`,
      {
        about: `installed in a folder named "${name}"`,
        exits: [0],
        says: /Verdict: (inconclusive|conforms)/,
        setUp: async (folder) => installedIn(join(folder, name)),
      },
    ]),
  ),
})

/** A copy of the package as an installation has it, its dependencies linked. */
function installedIn(place: string): Setup {
  const home = join(place, 'node_modules', 'svc-conformance')
  mkdirSync(home, { recursive: true })
  for (const part of ['dist', 'spec', 'fixtures', 'package.json'])
    execFileSync('cp', ['-R', join(packageRoot, part), join(home, part)])
  symlinkSync(join(packageRoot, 'node_modules'), join(home, 'node_modules'))
  return { args: ['run', '--only', 'basic'], bin: join(home, 'dist', 'suites', 'bin.js') }
}

/** Key files and headers that are not what they should be. */
export const attacksOfKeys: Attacks = endingWith(usage, {
  'encrypted-private-key': {
    about: 'an encrypted private key',
    setUp: withFiles(
      {
        'key.pem':
          '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi\n-----END ENCRYPTED PRIVATE KEY-----\n',
      },
      ['sign', '--body', '{}', '--key-id', 'k', '--private-key', 'key.pem'],
    ),
  },
  'certificate-as-key': {
    about: 'a certificate where a public key belongs',
    setUp: withFiles(
      { 'key.pem': '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUX\n-----END CERTIFICATE-----\n' },
      verifyKey,
    ),
  },
  'small-order-key': {
    about: 'a public key of small order',
    exits: [1, 2],
    setUp: withFiles(
      {
        'key.pem': pem(
          Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from([1]), Buffer.alloc(31)]),
        ),
      },
      verifyKey,
    ),
  },
  'key-not-on-the-curve': {
    about: 'a public key that is no point',
    setUp: withFiles(
      { 'key.pem': pem(Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.alloc(32, 0x02)])) },
      verifyKey,
    ),
  },
  'huge-header-to-diagnose': {
    about: 'a header of 1 MB to diagnose',
    exits: [1, 2, 3],
    setUp: withFiles({ 'header.txt': `svc-hmac-sha256 ${';'.repeat(1024 * 1024)}` }, [
      'diagnose',
      '--header',
      '@header.txt',
      '--body',
      '{}',
      '--secret-env',
      'SVC_KEY_SECRET',
    ]),
  },
})

function pem(der: Buffer): string {
  return `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
}
