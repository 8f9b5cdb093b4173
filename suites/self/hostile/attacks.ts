import type { Attack } from './attack.ts'
import { attacksOfAnswers } from './attacks-of-answers.ts'
import { attacksOfBytes } from './attacks-of-bytes.ts'
import { attacksOfFiles } from './attacks-of-files.ts'
import { attacksOfHttp } from './attacks-of-http.ts'
import { attacksOfKeys } from './attacks-of-keys.ts'
import { attacksOfOutput } from './attacks-of-output.ts'
import { attacksOfTheModel } from './attacks-of-the-model.ts'
import { attacksOfTime } from './attacks-of-time.ts'
import { attacksOfValues } from './attacks-of-values.ts'
import { attacksOnCommands } from './attacks-on-commands.ts'

/** Every known attack on a run, by what attacks: servers, files and the machine. */
export const attackKinds: readonly (readonly Attack[])[] = [
  attacksOfAnswers,
  attacksOfBytes,
  attacksOfTime,
  attacksOfValues,
  attacksOfFiles,
  attacksOfKeys,
  attacksOfTheModel,
  attacksOfHttp,
  attacksOfOutput,
  attacksOnCommands,
]

export const attacks: readonly Attack[] = attackKinds.flat()
