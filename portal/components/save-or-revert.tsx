import { text } from '../strings.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

type Props = {
  draft: { isChanged: boolean; isOutdated: boolean; isRestored: boolean; revert(): void }
  busy: boolean
  isValid: boolean
}

/** What a form ends with: where its draft stands, and the two ways on. */
export function SaveOrRevert({ draft, busy, isValid }: Props) {
  return (
    <>
      {(draft.isOutdated || draft.isRestored) && !busy && (
        <Notice kind="warning">{draft.isOutdated ? text.common.outdated : text.common.restored}</Notice>
      )}
      <div className="flex gap-2">
        <Button type="submit" look="primary" busy={busy} disabled={!draft.isChanged || !isValid}>
          {text.common.save}
        </Button>
        <Button look="quiet" disabled={!draft.isChanged} onClick={draft.revert}>
          {text.common.revert}
        </Button>
      </div>
    </>
  )
}
