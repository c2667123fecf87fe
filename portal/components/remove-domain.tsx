import { useIsMutating, useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api.ts'
import { applyNews } from '../domain-news.ts'
import { text } from '../strings.ts'
import { inBothForms } from '../unicode-name.ts'
import { toast } from './announcer.tsx'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { ConfirmDialog } from './dialog.tsx'

const words = text.domain

const removal = (slug: string, hostname: string) => ['remove-domain', slug, hostname]

/** Whether it is being removed here: until the page has been left, the news of that concern nobody on it. */
export function useIsRemoving(slug: string, hostname: string): boolean {
  return useIsMutating({ mutationKey: removal(slug, hostname) }) > 0
}

/** Removes the domain once its hostname was typed. */
export function RemoveDomain({ slug, hostname }: { slug: string; hostname: string }) {
  const [isAsking, setAsking] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationKey: removal(slug, hostname),
    mutationFn: () => api.removeDomain(slug, hostname),
    async onSuccess() {
      applyNews(client, slug, { hostname, removed: true })
      toast(words.removed(inBothForms(hostname)))
      await navigate({ to: '/projects/$slug', params: { slug }, replace: true })
      client.removeQueries({ queryKey: ['project', slug, 'domain', hostname] })
      await client.invalidateQueries({ queryKey: ['project', slug] })
    },
  })
  return (
    <Card title={words.removeTitle} tone="danger">
      <p className="max-w-prose text-sm leading-relaxed text-stone-600 dark:text-stone-300">{words.removeText}</p>
      <div>
        <Button onClick={() => setAsking(true)}>{words.remove}</Button>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={words.removeTitle}
          description={words.removeText}
          action={words.remove}
          typed={hostname}
          busy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  )
}
