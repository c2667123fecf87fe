import type { Letter } from './mail-layout.ts'

/** The mail with a sign-in link. */
export function signInLetter(url: string): Letter {
  return {
    subject: 'Sign in to Namesake',
    heading: 'Sign in to Namesake',
    paragraphs: ['Open this link to sign in. It works once, and for 15 minutes.'],
    button: { label: 'Sign in', url },
    closing: ['You did not ask for this? Then somebody typed your address by mistake, and you can leave this mail alone.'],
  }
}
