import { ServiceError } from '../errors.ts'

const NAME_CHARACTERS_MAX = 80
const SEQUENCE = /\p{RGI_Emoji}/gv
// In these scripts a joiner changes how the letters beside it look; between Latin letters, for one, it hides.
const JOINER = /(?<=[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}]])[\u200c\u200d]/gv
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800]/gu

/**
 * A name for people to read, also in a mail to somebody else: 1 to 80 characters without the blanks around it, in one line, nothing that is not seen
 * or turns the direction of what follows, and no link. Throws `name_invalid`.
 */
export function parseDisplayName(text: string): string {
  const name = text.trim()
  const characters = [...name].length
  if (characters < 1 || characters > NAME_CHARACTERS_MAX) throw invalid(`a name has 1 to ${NAME_CHARACTERS_MAX} characters`)
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) throw invalid('a name has no control characters')
  if (/[\p{Zl}\p{Zp}]/u.test(name)) throw invalid('a name is one line')
  if (name.replace(INVISIBLE, '') === '') throw invalid('a name has characters that can be seen')
  if (/\p{Cf}/u.test(name.replace(SEQUENCE, '').replace(JOINER, ''))) throw invalid('a name has no invisible characters: type it anew')
  if (name.includes('://')) throw invalid('a name is no link: leave out what has :// in it')
  return name
}

function invalid(message: string): ServiceError {
  return new ServiceError('name_invalid', message)
}
