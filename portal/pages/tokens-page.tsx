import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api.ts'
import { toast } from '../components/announcer.tsx'
import { Button } from '../components/button.tsx'
import { EmptyState, PageHead, Skeleton } from '../components/card.tsx'
import { Cell, DataTable } from '../components/data-table.tsx'
import { ConfirmDialog } from '../components/dialog.tsx'
import { IssueToken } from '../components/issue-token.tsx'
import { LoadProblem } from '../components/notice.tsx'
import { Badge } from '../components/status-badge.tsx'
import { Ago } from '../components/time.tsx'
import { useDraft } from '../edits.ts'
import { usePageTitle } from '../page-title.ts'
import { queries } from '../queries.ts'
import type { Token } from '../records.ts'
import { useSlug } from '../route-params.ts'
import { text } from '../strings.ts'

const UNNAMED = { name: '' }
const words = text.tokens

export function TokensPage() {
  const slug = useSlug()
  const tokens = useQuery(queries.tokens(slug))
  const project = useQuery(queries.project(slug))
  const naming = useDraft(`name of a token of ${slug}`, UNNAMED)
  const [isIssuing, setIssuing] = useState(naming.isRestored)
  const [revoking, setRevoking] = useState<Token>()
  usePageTitle(words.title)
  const mayManage = project.data !== undefined && project.data.role !== 'member'
  const issue = (
    <Button look="primary" onClick={() => setIssuing(true)}>
      {words.issue}
    </Button>
  )
  return (
    <>
      <PageHead title={words.title} lead={mayManage || !project.data ? words.lead : words.notAllowed}>
        {mayManage && (tokens.data?.length ?? 0) > 0 && issue}
      </PageHead>
      {tokens.isPending && <Skeleton rows={3} />}
      {tokens.error && !tokens.data && <LoadProblem error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.data?.length === 0 && (
        <EmptyState title={words.emptyTitle} action={mayManage && issue}>
          <p>{words.emptyText}</p>
        </EmptyState>
      )}
      {tokens.data && tokens.data.length > 0 && (
        <DataTable
          label={words.title}
          columns={[words.columns.name, words.columns.preview, words.columns.created, words.columns.used, words.columns.action]}
        >
          {tokens.data.toReversed().map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={mayManage ? () => setRevoking(token) : undefined} />
          ))}
        </DataTable>
      )}
      {isIssuing && <IssueToken slug={slug} draft={naming} onClose={() => setIssuing(false)} />}
      {revoking && <RevokeToken slug={slug} token={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  )
}

function TokenRow({ token, onRevoke }: { token: Token; onRevoke: (() => void) | undefined }) {
  const name = token.name || words.unnamed
  return (
    <tr className={token.revokedAt ? 'text-stone-600 dark:text-stone-400' : ''}>
      <Cell label={words.columns.name} isHead>
        {name}
      </Cell>
      <Cell label={words.columns.preview}>
        <code className="font-mono text-xs break-all">{token.preview}</code>
      </Cell>
      <Cell label={words.columns.created}>
        <Ago at={token.createdAt} />
      </Cell>
      <Cell label={words.columns.used}>{token.lastUsedAt ? <Ago at={token.lastUsedAt} /> : text.common.never}</Cell>
      <Cell label={words.columns.action} isAction>
        {token.revokedAt ? (
          <Badge>{words.revoked}</Badge>
        ) : (
          onRevoke && (
            <Button size="small" aria-label={words.revokeOf(name)} onClick={onRevoke}>
              {words.revoke}
            </Button>
          )
        )}
      </Cell>
    </tr>
  )
}

function RevokeToken({ slug, token, onClose }: { slug: string; token: Token; onClose(): void }) {
  const client = useQueryClient()
  const name = token.name || words.unnamed
  const revoke = useMutation({
    mutationFn: () => api.revokeToken(slug, token.id),
    async onSuccess() {
      await client.invalidateQueries({ queryKey: queries.tokens(slug).queryKey })
      toast(words.wasRevoked(name))
      onClose()
    },
  })
  return (
    <ConfirmDialog
      title={words.revokeTitle(name)}
      description={words.revokeText}
      action={words.revoke}
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    />
  )
}
