import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from './api.ts'
import { toast } from './components/announcer.tsx'
import { queries } from './queries.ts'
import { text } from './strings.ts'

/** Saves settings of a project, and shows at once what was saved. */
export function useProjectChange(slug: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (changes: Parameters<typeof api.changeProject>[1]) => api.changeProject(slug, changes),
    onSuccess({ upstreamCheck: _, ...project }) {
      client.setQueryData(queries.project(slug).queryKey, project)
      void client.invalidateQueries({ queryKey: queries.projects().queryKey })
      toast(text.common.saved)
    },
  })
}
