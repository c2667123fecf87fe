import { ServiceError } from '../errors.ts'

const NAME_CHARACTERS_MAX = 80

/** A name for people to read: 1 to 80 characters without the blanks around it, no control characters. Throws `name_invalid`. */
export function parseDisplayName(text: string): string {
  const name = text.trim()
  const characters = [...name].length
  if (characters < 1 || characters > NAME_CHARACTERS_MAX) throw invalid(`a name has 1 to ${NAME_CHARACTERS_MAX} characters`)
  if (!name.isWellFormed() || /\p{Cc}/u.test(name)) throw invalid('a name has no control characters')
  return name
}

function invalid(message: string): ServiceError {
  return new ServiceError('name_invalid', message)
}
