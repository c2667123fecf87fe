import { inBothForms } from '../hostname.ts'
import type { Letter } from './mail-layout.ts'

/** The mail that tells somebody of their new project. `url` is the sign-in page: the link itself comes by a mail of its own. */
export function invitationLetter(invited: {
  to: string
  projectName: string
  role: string
  invitedBy: string | null
  url: string
}): Letter {
  const { to, projectName, role, invitedBy, url } = invited
  const who = invitedBy === null ? 'You were invited' : `${inBothForms(invitedBy)} invites you`
  const article = role === 'member' ? 'a' : 'an'
  return {
    subject: `Invitation to ${projectName}`,
    heading: `You belong to ${projectName} now`,
    paragraphs: [
      `${who} to the project ${projectName} on Namesake, as ${article} ${role}.`,
      `Sign in with this address (${inBothForms(to)}) to see it.`,
    ],
    button: { label: 'Go to sign in', url },
    closing: ['Are you signed in already? Sign in again: a project shows from the next sign-in on.'],
  }
}
