import type { ReactNode } from 'react'

/** A table that becomes a list of cards where it has no room: each cell then carries its column's name. */
export function DataTable({ label, columns, children }: { label: string; columns: readonly string[]; children: ReactNode }) {
  return (
    <div className="rounded-2xl border border-stone-200 bg-white shadow-xs dark:border-stone-800 dark:bg-stone-900">
      {/* biome-ignore lint/a11y/noRedundantRoles: Safari forgets that a table whose display is changed is one */}
      <table role="table" aria-label={label} className="block w-full text-sm md:table">
        <thead className="sr-only md:not-sr-only md:table-header-group">
          <tr className="text-left text-xs text-stone-600 dark:text-stone-400">
            {columns.map((column, n) => (
              <th key={column} scope="col" className="px-5 py-3 font-medium">
                {n === columns.length - 1 ? <span className="sr-only">{column}</span> : column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="block divide-y divide-stone-200 md:table-row-group dark:divide-stone-800 [&>tr]:grid [&>tr]:gap-1 [&>tr]:px-4 [&>tr]:py-3 md:[&>tr]:table-row">
          {children}
        </tbody>
      </table>
    </div>
  )
}

type CellProps = { label: string; children: ReactNode; isHead?: boolean; isAction?: boolean; isShort?: boolean }

export function Cell({ label, children, isHead = false, isAction = false, isShort = false }: CellProps) {
  const place = `min-w-0 break-words md:table-cell md:px-5 md:py-3 md:align-middle ${isAction ? 'md:text-right' : ''} ${isShort ? 'md:whitespace-nowrap' : ''}`
  if (isHead) {
    return (
      <th scope="row" className={`text-left font-medium ${place}`}>
        {children}
      </th>
    )
  }
  return (
    <td className={`flex items-center gap-2 ${place}`}>
      {!isAction && (
        <span aria-hidden="true" className="w-24 shrink-0 text-stone-600 md:hidden dark:text-stone-400">
          {label}
        </span>
      )}
      <span className="min-w-0">{children}</span>
    </td>
  )
}
