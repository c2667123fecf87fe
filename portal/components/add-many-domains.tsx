import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import type { Draft } from '../edits.ts'
import type { BulkResult } from '../records.ts'
import { text } from '../strings.ts'
import { Button } from './button.tsx'
import { Dialog, DialogButtons, DraftButtons } from './dialog.tsx'
import { TextArea } from './field.tsx'
import { Notice } from './notice.tsx'

const HOSTNAMES_MAX = 10_000
const HOSTNAMES_A_REQUEST = 100 // small enough that the bar moves
const REFUSALS_SHOWN_MAX = 200
const words = text.domains

/** `failed`: how many were sent with the request that failed. */
type Progress = { all: number; results: BulkResult[]; state: 'running' | 'done' | 'stopped'; problem?: string; failed?: number }

type Props = { slug: string; draft: Draft<{ pasted: string }>; onClose(): void }

/** Adds what was pasted, a piece at a time, and lists what was refused and why. What was pasted stays until all of it was sent, and what was refused then. */
export function AddManyDomains({ slug, draft, onClose }: Props) {
  const { pasted } = draft.written
  const [progress, setProgress] = useState<Progress>()
  const stopped = useRef(false)
  const client = useQueryClient()
  const hostnames = [...new Set(pasted.split(/[\s,;]+/).filter(Boolean))]
  const run = async () => {
    let results: BulkResult[] = []
    const all = hostnames.length
    const end = (state: 'done' | 'stopped', failure?: { problem: string; failed: number }) => {
      setProgress({ all, results, state, ...failure })
      void client.invalidateQueries({ queryKey: ['project', slug] })
    }
    setProgress({ all, results, state: 'running' })
    for (let n = 0; n < all; n += HOSTNAMES_A_REQUEST) {
      if (stopped.current) return end('stopped')
      const piece = hostnames.slice(n, n + HOSTNAMES_A_REQUEST)
      try {
        const answer = await api.claimMany(slug, piece)
        results = [...results, ...answer.results]
      } catch (error) {
        return end('stopped', { problem: (error as Error).message, failed: piece.length })
      }
      setProgress({ all, results, state: 'running' })
    }
    const refused = results.filter(({ outcome }) => outcome === 'refused').map(({ hostname }) => hostname)
    if (refused.length > 0) draft.write({ pasted: refused.join('\n') })
    else draft.revert()
    end('done')
  }
  useEffect(() => {
    stopped.current = false
    return () => {
      stopped.current = true
    }
  }, [])
  return (
    // What is under way is ended by its own button, not by a key or a press beside it.
    <Dialog title={words.manyTitle} onClose={() => progress?.state !== 'running' && onClose()} wide>
      {progress ? (
        <Outcome
          progress={progress}
          onStop={() => {
            stopped.current = true
          }}
          onClose={onClose}
        />
      ) : (
        <form
          className="grid gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            if (hostnames.length > 0 && hostnames.length <= HOSTNAMES_MAX) void run()
          }}
        >
          <TextArea
            label={words.manyLabel}
            hint={words.manyHint}
            rows={8}
            value={pasted}
            onChange={(event) => draft.write({ pasted: event.target.value })}
            error={hostnames.length > HOSTNAMES_MAX ? words.manyTooMany(hostnames.length) : undefined}
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            className="font-mono"
          />
          <DraftButtons draft={draft} onClose={onClose}>
            <Button type="submit" look="primary" disabled={hostnames.length === 0 || hostnames.length > HOSTNAMES_MAX}>
              {words.manyAdd(hostnames.length)}
            </Button>
          </DraftButtons>
        </form>
      )}
    </Dialog>
  )
}

function Outcome({ progress, onStop, onClose }: { progress: Progress; onStop(): void; onClose(): void }) {
  const { all, results, state, problem, failed = 0 } = progress
  const numberOf = (outcome: BulkResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  const refused = results.filter(({ outcome }) => outcome === 'refused')
  return (
    <div className="grid gap-4">
      <label className="grid gap-2 text-sm">
        <span aria-live="polite">{words.manyProgress(results.length, all)}</span>
        <progress value={results.length} max={all} className="h-2 w-full overflow-hidden rounded-full accent-teal-700" />
      </label>
      {state !== 'running' && (
        <Notice
          kind={problem ? 'bad' : refused.length > 0 ? 'warning' : 'good'}
          title={words.manyDone(numberOf('claimed'), numberOf('exists'), refused.length)}
        >
          {problem} {failed > 0 && words.manyFailed(failed)} {state === 'stopped' && words.manyStopped(all - results.length - failed)}
        </Notice>
      )}
      {refused.length > 0 && (
        <section aria-label={words.manyRefused}>
          <ul
            // biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no mouse must be able to scroll it
            tabIndex={0}
            className="max-h-60 divide-y divide-stone-200 overflow-y-auto rounded-lg border border-stone-200 text-sm dark:divide-stone-700 dark:border-stone-700"
          >
            {refused.slice(0, REFUSALS_SHOWN_MAX).map(({ hostname, detail }) => (
              <li key={hostname} className="px-3 py-2 break-words">
                <span className="font-medium">{hostname}</span> <span className="text-stone-600 dark:text-stone-400">{detail}</span>
              </li>
            ))}
          </ul>
          <p className="mt-2 text-sm text-stone-600 dark:text-stone-400">
            {refused.length > REFUSALS_SHOWN_MAX && words.manyMore(refused.length - REFUSALS_SHOWN_MAX)}{' '}
            {state === 'done' && words.manyKept}
          </p>
        </section>
      )}
      <DialogButtons>
        {state === 'running' ? (
          <Button onClick={onStop}>{words.manyStop}</Button>
        ) : (
          <Button look="primary" onClick={onClose}>
            {text.common.close}
          </Button>
        )}
      </DialogButtons>
    </div>
  )
}
