import type { Attack } from './attack.ts'
import { withFiles } from './attacks-of-files.ts'

const usage = [2]

/** Key files and headers that are not what they should be. */
export const attacksOfKeys: readonly Attack[] = [
  {
    id: 'encrypted-private-key',
    about: 'an encrypted private key',
    exits: usage,
    setUp: withFiles(
      {
        'key.pem':
          '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi\n-----END ENCRYPTED PRIVATE KEY-----\n',
      },
      ['sign', '--body', '{}', '--key-id', 'k', '--private-key', 'key.pem'],
    ),
  },
  {
    id: 'certificate-as-key',
    about: 'a certificate where a public key belongs',
    exits: usage,
    setUp: withFiles({ 'key.pem': '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUX\n-----END CERTIFICATE-----\n' }, [
      'verify',
      '--header',
      'svc-hmac-sha256 a;1;1;n;c2ln',
      '--body',
      '{}',
      '--public-key',
      'key.pem',
    ]),
  },
  {
    id: 'small-order-key',
    about: 'a public key of small order',
    exits: [1, 2],
    setUp: withFiles(
      {
        'key.pem': pem(
          Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from([1]), Buffer.alloc(31)]),
        ),
      },
      ['verify', '--header', 'svc-hmac-sha256 a;1;1;n;c2ln', '--body', '{}', '--public-key', 'key.pem'],
    ),
  },
  {
    id: 'key-not-on-the-curve',
    about: 'a public key that is no point',
    exits: usage,
    setUp: withFiles(
      { 'key.pem': pem(Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.alloc(32, 0x02)])) },
      ['verify', '--header', 'svc-hmac-sha256 a;1;1;n;c2ln', '--body', '{}', '--public-key', 'key.pem'],
    ),
  },
  {
    id: 'huge-header-to-diagnose',
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
]

function pem(der: Buffer): string {
  return `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
}
