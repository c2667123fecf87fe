import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { api, wasOvertaken } from './api.ts'
import { toast } from './components/announcer.tsx'
import { queries } from './queries.ts'
import type { CheckedProject, Tagged } from './records.ts'
import { text } from './strings.ts'

type Changes = Parameters<typeof api.changeProject>[1]

/** Saves settings of a project, and shows at once what was saved. */
export function useProjectChange(slug: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (changes: Changes) => saveOverShown(client, slug, changes),
    onSuccess({ upstreamCheck: _, ...project }) {
      client.setQueryData(queries.project(slug).queryKey, project)
      void client.invalidateQueries({ queryKey: queries.projects().queryKey })
      toast(text.common.saved)
    },
  })
}

/**
 * Refused where one of these settings is not stored any more as it is shown, which is then shown as it is. The tag is that of all settings: a change of
 * another one, also by a form beside this one, is none that whoever saves is asked about.
 */
async function saveOverShown(client: QueryClient, slug: string, changes: Changes): Promise<Tagged<CheckedProject>> {
  const query = queries.project(slug)
  const shown = client.getQueryData(query.queryKey)
  try {
    return await api.changeProject(slug, changes, shown?.etag)
  } catch (error) {
    if (!wasOvertaken(error)) throw error
    const stored = await client.fetchQuery({ ...query, staleTime: 0 })
    const names = [...Object.keys(changes), ...Object.keys(changes.brand ?? {})]
    if (JSON.stringify(shown, names) !== JSON.stringify(stored, names)) throw error
    return api.changeProject(slug, changes, stored.etag)
  }
}
