import { type InvalidateQueryFilters, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { streams } from './api.ts'
import { announce } from './components/announcer.tsx'
import { applyNews, type DomainNews } from './domain-news.ts'
import { followEvents } from './event-stream.ts'
import { text } from './strings.ts'

const REFETCH_AFTER_MS = 400

/** Keeps what is shown of a project up to date while the page is open. A crowd of events leads to one reload of what they concern. */
export function useProjectNews(slug: string): void {
  const client = useQueryClient()
  useEffect(() => {
    const stale = new Map<string, InvalidateQueryFilters>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const reload = (...key: string[]) => {
      stale.set(key.join(' '), { queryKey: ['project', slug, ...key], exact: key.length === 0 })
      timer ??= setTimeout(() => {
        timer = undefined
        for (const filter of stale.values()) void client.invalidateQueries(filter)
        stale.clear()
      }, REFETCH_AFTER_MS)
    }
    const follow = (news: DomainNews) => {
      const before = applyNews(client, slug, news)
      if (before && !news.removed && news.status !== before) announce(text.status.changed(news.hostname, text.status.labels[news.status]))
      reload('domain', news.hostname)
      if (!before || news.removed) reload() // how many there are
    }
    const stop = followEvents({
      path: streams.project(slug),
      onEvent({ name, data }) {
        if (name === 'domain') follow(data as DomainNews)
        if (name !== 'activity') return
        reload() // its settings
        for (const list of ['activity', 'tokens', 'members']) reload(list)
      },
      onStale: () => void client.invalidateQueries({ queryKey: ['project', slug] }),
      onRefused: () => void client.invalidateQueries(), // whose session has ended is led to sign in, whose project it is no more to the 404 page
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [client, slug])
}
