import type { CheckedProject } from '../records.ts'
import { text } from '../strings.ts'
import { Notice } from './notice.tsx'

/** What came back when the project's upstream was tried just now. No answer is a warning: the application may not be up yet. */
export function UpstreamAnswer({ project: { upstreamUrl, upstreamCheck } }: { project: CheckedProject }) {
  if (!upstreamCheck) return null
  if (upstreamCheck.kind === 'answered') {
    return (
      <Notice kind="good" title={text.newProject.answered(upstreamUrl, upstreamCheck.status)}>
        {text.newProject.answeredHint}
      </Notice>
    )
  }
  return (
    <Notice kind="warning" title={text.newProject.unreachable(upstreamUrl)}>
      <p>{upstreamCheck.sentence}</p>
      <p>{text.newProject.unreachableHint}</p>
    </Notice>
  )
}
