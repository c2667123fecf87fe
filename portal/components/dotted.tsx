import { Fragment } from 'react'

/** A hostname or a record's value, which breaks behind its dots where it must break. */
export function Dotted({ children }: { children: string }) {
  const parts = children.split(/(?<=\.)/)
  return parts.map((part, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the same label may occur twice
    <Fragment key={n}>
      {n > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
