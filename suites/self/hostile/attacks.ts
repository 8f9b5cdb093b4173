import type { Attack, Attacks } from './attack.ts'
import { attacksOfAnswers, attacksOfValues } from './attacks-of-answers.ts'
import { attacksOfFiles, attacksOfKeys } from './attacks-of-files.ts'
import { attacksOfBytes, attacksOfHttp } from './attacks-of-http.ts'
import { attacksOfTheModel } from './attacks-of-the-model.ts'
import { attacksOfTime } from './attacks-of-time.ts'
import { attacksOfOutput, attacksOnCommands } from './attacks-on-commands.ts'

/** Every known attack on a run, by what attacks: servers, files and the machine. */
export const attackKinds: readonly Attacks[] = [
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

export const attacks: readonly (readonly [id: string, attack: Attack])[] = attackKinds.flatMap((kind) =>
  Object.entries(kind),
)
