import { useParams } from '@tanstack/react-router'

/** The project that the address names; for screens below it. */
export function useSlug(): string {
  return useParams({ strict: false }).slug!
}

/** The hostname that the address names; for the screen of one domain. */
export function useHostname(): string {
  return useParams({ strict: false }).hostname!
}
